import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError, renderProblems } from "./problems.ts";
import { resolveConfiguration } from "./validate.ts";

const PROBLEM = { file: "procman.jsonc", line: 2, column: 9, path: "name", message: "Found 5; allowed: a name." };
const SOURCE = new Map([["procman.jsonc", '{\n  "name": 5\n}']]);

test("each problem: place, path, line with carets, message", () => {
  assert.equal(
    renderProblems([{ ...PROBLEM, column: 11 }], SOURCE),
    'procman.jsonc:2:11 name\n  2 |   "name": 5\n    |           ^\n  Found 5; allowed: a name.',
  );
});

test("each problem is shown with the line of its own file", () => {
  const sources = new Map([...SOURCE, ["conf.d/a.jsonc", '{\n  "processes": {} }']]);
  const other = { ...PROBLEM, file: "conf.d/a.jsonc", column: 16, path: "processes" };
  assert.match(
    renderProblems([PROBLEM, other], sources),
    /2 \| {3}"name": 5\n[\s\S]*conf\.d\/a\.jsonc:2:16 processes\n {2}2 \| {3}"processes": \{\} \}\n/,
  );
});

test("colors only when asked for", () => {
  assert.doesNotMatch(renderProblems([PROBLEM], SOURCE), /\u001b/);
  assert.match(renderProblems([PROBLEM], SOURCE, { colors: true }), /\u001b\[31m/);
});

test("a problem without a place shows its path alone", () => {
  assert.equal(
    renderProblems([{ ...PROBLEM, file: "", line: 0, column: 0 }], new Map()),
    "name\n  Found 5; allowed: a name.",
  );
});

test("the error is a ProcmanError with exit code 78 and status 400", () => {
  const { code, exitCode, status, message } = new ConfigurationError([PROBLEM, PROBLEM], SOURCE);
  assert.deepEqual({ code, exitCode, status }, { code: "configuration-invalid", exitCode: 78, status: 400 });
  assert.match(message, /^Cannot use procman\.jsonc: 2 problems\n\n/);
  const several = new ConfigurationError([PROBLEM, { ...PROBLEM, file: "conf.d/a.jsonc" }], SOURCE);
  assert.match(several.message, /^Cannot use the configuration: 2 problems\n\n/);
});

test("control characters of the file don't reach the terminal: in the path, the value and the line", () => {
  const source = '{ "processes": [], "a\u009b31m": 1, "name": "x\u009b\u007f" }';
  assert.throws(
    () => resolveConfiguration(source, { file: "procman.json" }),
    ({ message }: Error) =>
      /\["a\\x9b31m"\]/.test(message) && /Found "x\\x9b\\x7f"/.test(message) && !/[\x7f-\x9f]/.test(message),
  );
});

test("twenty thousand problems of a file are shown within seconds", () => {
  const before = process.cpuUsage();
  assert.throws(
    () => resolveConfiguration(`{"processes":[\n${"5 x 6\n".repeat(20_000)}`, { file: "procman.json" }),
    (error) => error instanceof ConfigurationError && error.problems.length === 20_001,
  );
  assert.ok(process.cpuUsage(before).user < 8e6, "more than 8 s of CPU time");
});
