/** The severities that lines say, by the rules of the configuration, then by `line-level.ts`. Readers of the store find the rules in its folder. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isNotFound } from "../base/errors.ts";
import { fingerprint } from "../base/hash.ts";
import { type LevelRule, type LevelRules, severityNamed } from "../contract/levels.ts";
import { CATEGORIES, SEVERITIES } from "../contract/records.ts";
import { writeWhole } from "../os/careful-files.ts";
import { makeFolder } from "../os/files.ts";
import { LinearExpression } from "../os/linear-expression.ts";
import { levelOf, mayBegin } from "./line-level.ts";

/** Another number, if the same lines are understood otherwise than before: what indexes say of levels isn't used then. */
const VERSION = 1;
const FILE = "levels.json";
const MODE = 0o600;

/** Index in `SEVERITIES`, or -1. */
type LevelTest = (bytes: Buffer, start: number, end: number) => number;

const OUTPUT: readonly number[] = [CATEGORIES.indexOf("stdout"), CATEGORIES.indexOf("stderr")];

/** Only the output of programs says its level; all other entries have one. */
export function isOutput(category: number): boolean {
  return OUTPUT.includes(category);
}

export class LineLevels {
  /** Names the rules in indexes. */
  readonly key: string;
  readonly isOff: boolean;
  readonly #rules: readonly LevelTest[];

  /** @throws {ProcmanError} `input-invalid`: a regular expression is wrong */
  constructor(rules: LevelRules = []) {
    this.isOff = rules === false;
    this.#rules = (rules || []).map(testOf);
    this.key = `${VERSION}-${fingerprint(JSON.stringify(rules))}`;
  }

  /** Index in `SEVERITIES` of what the line from `start` to `end` says; -1: it says nothing. */
  of(bytes: Buffer, start: number, end: number): number {
    if (this.isOff) return -1;
    for (const rule of this.#rules) {
      const level = rule(bytes, start, end);
      if (level !== -1) return level;
    }
    return levelOf(bytes, start, end);
  }

  /** False if none of these whole lines says its level. Faster than `of` for each. */
  mayBeIn(bytes: Buffer, start: number, end: number): boolean {
    if (this.isOff || this.#rules.length > 0) return !this.isOff;
    if (mayBegin(bytes[start])) return true;
    const lines = bytes.subarray(start, end);
    return lines.includes("\n{") || lines.includes("\n<");
  }
}

function testOf({ prefix, regex, severity }: LevelRule): LevelTest {
  const level = severity === undefined ? -1 : SEVERITIES.indexOf(severity);
  if (regex === undefined) {
    const wanted = Buffer.from(prefix ?? "");
    return (bytes, start, end) =>
      end - start >= wanted.length && bytes.compare(wanted, 0, wanted.length, start, start + wanted.length) === 0
        ? level
        : -1;
  }
  const expression = new LinearExpression(regex);
  return (bytes, start, end) => {
    const line = bytes.toString("utf8", start, end);
    if (level !== -1) return expression.test(line) ? level : -1;
    const said = severityNamed(expression.firstGroup(line) ?? "");
    return said === undefined ? -1 : SEVERITIES.indexOf(said);
  };
}

/** The rules that were read last: most queries have the same ones. */
let known: { readonly text: string; readonly levels: LineLevels } = { text: "", levels: new LineLevels() };

/** By the rules that the logger has left in the folder of the store. */
export function storedLevels(folder: string): LineLevels {
  const text = textOf(folder);
  if (text !== known.text) known = { text, levels: levelsIn(text) };
  return known.levels;
}

/** A damaged file hides no line. */
function levelsIn(text: string): LineLevels {
  try {
    return levelsBy(text === "" ? [] : (JSON.parse(text) as LevelRules));
  } catch {
    return new LineLevels();
  }
}

/** Rules that this version doesn't know, as after a downgrade, are none. */
export function levelsBy(rules: LevelRules | undefined): LineLevels {
  try {
    return new LineLevels(rules);
  } catch {
    return new LineLevels();
  }
}

function textOf(folder: string): string {
  try {
    return readFileSync(join(folder, FILE), "utf8");
  } catch (error) {
    if (isNotFound(error)) return "";
    throw error;
  }
}

/** Leaves the rules for readers; without rules there is no file. @throws errors of the file system */
export function storeLevels(folder: string, rules: LevelRules = []): void {
  const text = rules !== false && rules.length === 0 ? "" : JSON.stringify(rules);
  if (text === textOf(folder)) return;
  if (text === "") return rmSync(join(folder, FILE), { force: true });
  makeFolder(folder, 0o700);
  writeWhole(join(folder, FILE), text, { mode: MODE });
}
