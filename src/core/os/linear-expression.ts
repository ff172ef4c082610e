/**
 * Regular expressions in the syntax of RE2: the time of a test grows with the length of the text alone, whatever the
 * expression, so they may come from outside. The engine is loaded when the first one is made.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { RE2JS } from "re2js";
import { ProcmanError } from "../base/errors.ts";

/** Instructions of a compiled expression: each character of a text may cost as many steps. */
const MAX_INSTRUCTIONS = 1_000;
const BUNDLE = "linear-engine.cjs";

type Engine = { readonly RE2JS: typeof RE2JS };

let engine: Engine | undefined;

/** One file for all bundles; run from its source, procman takes the package. */
function loaded(): Engine {
  if (engine !== undefined) return engine;
  const file = join(import.meta.dirname, BUNDLE);
  engine = createRequire(file)(existsSync(file) ? file : "re2js") as Engine;
  return engine;
}

export class LinearExpression {
  readonly #compiled: RE2JS;

  /** @throws {ProcmanError} `input-invalid`: the expression is wrong, or too large; the message says which, and what to do */
  constructor(source: string) {
    this.#compiled = compiled(source);
  }

  /** Number of groups. */
  get groups(): number {
    return this.#compiled.groupCount();
  }

  /** Whether it matches a part of the text. */
  test(text: string): boolean {
    return this.#compiled.test(text);
  }

  /** The text of the first group in the first match; undefined: no match, or the group has no part in it. */
  firstGroup(text: string): string | undefined {
    return this.#compiled.exec(text)?.[1] ?? undefined;
  }
}

/** Members of the engine's exceptions. */
type RefusedPart = { readonly error?: string; readonly input?: string | null };

function compiled(source: string): RE2JS {
  const expression = parsed(source);
  const size = expression.programSize();
  if (size <= MAX_INSTRUCTIONS) return expression;
  throw refused(source, `it is too large (${size} steps; at most ${MAX_INSTRUCTIONS}); repeat less, such as {1,10}`);
}

function parsed(source: string): RE2JS {
  try {
    return loaded().RE2JS.compile(source);
  } catch (error) {
    const { name, message, error: what = message, input } = error as Error & RefusedPart;
    if (!name.startsWith("RE2JS")) throw error;
    const part = input ? ` in ${JSON.stringify(input)}` : "";
    throw refused(source, `${what}${part}; the syntax is that of RE2, without look-around and back-references`);
  }
}

function refused(source: string, why: string): ProcmanError {
  return new ProcmanError("input-invalid", `Cannot use the regular expression ${JSON.stringify(source)}: ${why}`);
}
