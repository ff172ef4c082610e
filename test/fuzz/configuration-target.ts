/**
 * Texts of configurations with comments, includes and profiles: each is valid, or refused by problems with their
 * places; a valid one means the same when it is written with its defaults; an edit keeps all comments.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { createScanner } from "jsonc-parser";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { parseDocument, placedDocument } from "../../src/core/config/document.ts";
import { appendProcess, processTexts, removeProcess } from "../../src/core/config/edit/edit.ts";
import { fastParse } from "../../src/core/config/fast-parse.ts";
import { check as checkText, dataOf, filesOf } from "../../src/core/config/load.ts";
import { ConfigurationError, renderProblems } from "../../src/core/config/problems.ts";
import type { Config } from "../../src/core/config/spec.ts";
import { validateConfiguration } from "../../src/satellites/library/validate-configuration.ts";
import { anyConfiguration, inheritingConfiguration } from "../support/arbitrary-configuration.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { readSet, withFiles, writeSet } from "./file-set.ts";
import { damaged, type FuzzTarget, oddJson, whole } from "./fuzz-target.ts";

const WORDS = [
  ...[
    '"processes"',
    '"include": ["*.json"]',
    '"profiles"',
    '"defaults"',
    '"extends": "p0",',
    '"id"',
    '"cmd"',
    "// c",
    "/* c */",
    "/*",
    ",",
    "[",
    "]",
    "{",
    "}",
    '"',
    "\\u00",
  ],
  ...["\ufeff", "\r\n", "\u2028", "null", "1e400", "${HOME}", "${", "{port}", '"__proto__":', "\u001b[31m", "\u009b"],
];
const NEW = { id: "fuzz-new", cmd: "true" };
/** A raw control character that a terminal obeys. */
const ESCAPES = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

function sample<Value>(arbitrary: fc.Arbitrary<Value>, random: SeededRandom): Value {
  return fc.sample(arbitrary, { seed: whole(random, 2 ** 31), numRuns: 1 })[0] as Value;
}

/** With comments and trailing commas. */
function textOf(value: unknown, random: SeededRandom): string {
  const json = JSON.stringify(value, null, random.of([0, 2, "\t"]));
  const comment = (): string => random.of(["", "", "", "// a\n", "/* b */", " /* c\n */ ", "\r\n"]);
  return json.replace(/(?<=[[{,])(?=\s)|(?=\n *[\]}])/g, () => (random.next() < 0.3 ? comment() : ""));
}

function input(random: SeededRandom): Buffer {
  const value: Readonly<Record<string, unknown>> = sample(fc.oneof(anyConfiguration, inheritingConfiguration), random);
  const odd = (given: unknown): unknown => (random.next() < 0.4 ? oddJson(given, random) : given);
  const bytes = (given: unknown): Buffer => {
    const text = Buffer.from(textOf(given, random));
    return random.next() < 0.5 ? damaged(text, random, { words: WORDS }) : text;
  };
  if (random.next() < 0.7) return writeSet({ "procman.json": bytes(odd(value)) });
  const { processes } = sample(anyConfiguration, random);
  const part = { processes: processes.map((process) => ({ ...process, id: `q-${process.id}` })) };
  return writeSet({
    "procman.json": bytes(odd({ ...value, include: ["*/*.json"] })),
    "part/one.json": bytes(odd(part)),
  });
}

/** The result of `call`; undefined: procman refuses it as bad input. */
function accepted<Result>(call: () => Result): Result | undefined {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    if (error instanceof ConfigurationError) checkProblems(error);
    return undefined;
  }
}

function checkProblems({ problems, sources, message }: ConfigurationError): void {
  assert.ok(problems.length > 0, "a refusal without a problem");
  const texts = new Map([...sources].map(([file, text]) => [file, text.split(/\r\n|\r|\n/)]));
  for (const { file, line, column } of problems) {
    const lines = texts.get(file) ?? assert.fail(`there is no file ${file}`);
    assert.ok(line >= 1 && line <= lines.length, `line ${line} of ${lines.length}`);
    assert.ok(column >= 1 && column <= (lines[line - 1]?.length ?? 0) + 1, `column ${column} of line ${line}`);
  }
  for (const text of [message, renderProblems(problems, sources)])
    assert.ok(!ESCAPES.test(text), `an escape in the message: ${JSON.stringify(ESCAPES.exec(text))}`);
}

function commentsIn(text: string): readonly string[] {
  const [scanner, comments] = [createScanner(text), [] as string[]];
  for (let kind = scanner.scan(); kind !== 17; kind = scanner.scan())
    if (kind === 12 || kind === 13) comments.push(text.substr(scanner.getTokenOffset(), scanner.getTokenLength()));
  return comments;
}

function checkEdit(text: string): void {
  const before = placedDocument(text);
  const appended = accepted(() => appendProcess(text, NEW));
  if (appended === undefined || before.syntax.length > 0 || before.faults.length > 0) return;
  const { data, syntax } = placedDocument(appended);
  assert.deepEqual(syntax, [], `not readable after an edit: ${appended}`);
  const old = before.data as { readonly processes: readonly unknown[] };
  assert.deepEqual(data, { ...old, processes: [...old.processes, NEW] });
  const comments = commentsIn(text);
  assert.deepEqual(commentsIn(appended), comments, "comments after an addition");
  if (processTexts(text).has(NEW.id)) return;
  const removed = removeProcess(appended, NEW.id);
  assert.deepEqual(placedDocument(removed).data, old);
  for (const comment of new Set(comments))
    assert.ok(removed.includes(comment) || /fuzz/.test(comment), `${comment} is gone after a removal`);
}

function checkMeaning(text: string, file: string, config: Config): void {
  const complete = validateConfiguration(text, { file });
  // Infinity, as of 1e400, is no JSON.
  if (!isDeepStrictEqual(JSON.parse(JSON.stringify(complete)), complete)) return;
  const again = validateConfiguration(JSON.stringify(complete), { file });
  assert.deepEqual(again, complete, "its defaults, written out");
  assert.deepEqual(checkText({ file, shownAs: file, text: JSON.stringify(complete) }).processes, config.processes);
}

async function check(given: Buffer): Promise<void> {
  await withFiles(readSet(given), (folder) => {
    const file = join(folder, "procman.json");
    const text = readFileSync(file, "utf8");
    const bare = text.replace(/^\ufeff/, "");
    const fast = fastParse(bare);
    // Deeper data is refused, whoever reads it.
    if (fast !== undefined && parseDocument(bare).syntax.length === 0) {
      const slow = placedDocument(bare);
      assert.deepEqual(slow.syntax, [], "the fast parser reads what the other refuses");
      assert.ok(isDeepStrictEqual(fast.data, slow.data), "the two parsers read different data");
    }
    const main = { file, shownAs: file, text };
    accepted(() => dataOf(main));
    accepted(() => filesOf(main));
    checkEdit(text);
    accepted(() => checkText(main, { allProfiles: true, looksAtFiles: true }));
    accepted(() => checkText(main, { profile: "ci" }));
    const config = accepted(() => checkText(main));
    if (config !== undefined) checkMeaning(text, file, config);
  });
}

export async function openConfiguration(): Promise<FuzzTarget> {
  return { input, check };
}
