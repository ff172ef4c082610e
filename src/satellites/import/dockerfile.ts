/** What a Dockerfile says about the program of its image. */
import { ownMember } from "../../core/base/interpolate.ts";
import { scalarText } from "./foreign-fields.ts";
import { filledText } from "./foreign-text.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";

export type Dockerfile = {
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly stopSignal?: string;
  readonly user?: string;
  /** ENV */
  readonly variables: Readonly<Record<string, string>>;
  /** ARG: only for the Dockerfile itself. */
  readonly arguments: Readonly<Record<string, string>>;
};

const SCRATCH: Dockerfile = { variables: {}, arguments: {} };

/** `target`: the stage that is built; the last one if absent. A stage has what the stage has that it begins with. */
export function readDockerfile(text: string, target?: string): Dockerfile {
  const stages = new Map<string, Dockerfile>();
  let [stage, name] = [SCRATCH, ""];
  for (const [, instruction = "", rest = ""] of instructionsIn(text)) {
    const [, base = "", alias = ""] = /^(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?/i.exec(rest) ?? [];
    if (instruction.toUpperCase() === "FROM") {
      stage = stages.get(base.toLowerCase()) ?? SCRATCH;
      name = alias.toLowerCase();
    } else stage = withInstruction(stage, instruction.toUpperCase(), rest.trim());
    stages.set(name, stage);
  }
  return stages.get(target?.toLowerCase() ?? name) ?? stage;
}

function instructionsIn(text: string): Iterable<readonly string[]> {
  const lines = text.replace(/^[ \t]*#.*(\r?\n|$)/gm, "").replace(/\\[ \t]*\r?\n/g, " ");
  return lines.matchAll(/^[ \t]*([A-Za-z]+)[ \t]+(.*)$/gm);
}

function withInstruction(stage: Dockerfile, instruction: string, rest: string): Dockerfile {
  if (instruction === "CMD") return { ...stage, command: wordsIn(rest) };
  if (instruction === "ENTRYPOINT") return { ...stage, entrypoint: wordsIn(rest) };
  if (instruction === "STOPSIGNAL") return { ...stage, stopSignal: rest };
  if (instruction === "USER") return { ...stage, user: rest };
  if (instruction === "ENV") return { ...stage, variables: { ...stage.variables, ...assigned(stage, rest) } };
  return instruction === "ARG" ? { ...stage, arguments: { ...stage.arguments, ...assigned(stage, rest) } } : stage;
}

/** The form for a shell, if it is no list. */
function wordsIn(text: string): readonly string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.map(scalarText);
  } catch {
    // The form for a shell.
  }
  return ["/bin/sh", "-c", text];
}

/** `A=1 B="two words"`, or `A the rest of the line`. */
function assigned(stage: Dockerfile, text: string): Readonly<Record<string, string>> {
  const lookUp = (name: string): string | undefined =>
    ownMember(stage.variables, name) ?? ownMember(stage.arguments, name);
  const [, name, value = ""] = /^(\w+)\s+(\S.*)$/.exec(text) ?? [];
  const pairs = name === undefined ? plainWords(text).map(pairIn) : [[name, value] as const];
  return Object.fromEntries(
    pairs.map(([key, each]) => [key, filledText(each, { lookUp, onFilled: () => undefined })] as const),
  );
}

function pairIn(word: string): readonly [string, string] {
  const [, name = "", value = ""] = /^([^=]*)=?(.*)$/s.exec(word) ?? [];
  return [name, value];
}

function plainWords(text: string): readonly string[] {
  try {
    return splitWords(text);
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    return [];
  }
}
