/** Differences between texts of a configuration: what changed, and no secret. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diffOf } from "./text-diff.ts";

const FILE = "/srv/procman.jsonc";

const linesOf = (from: string, to: string): readonly string[] =>
  diffOf([{ file: FILE, text: from }], [{ file: FILE, text: to }]).flatMap(({ hunks }) =>
    hunks.flatMap(({ lines }) => lines),
  );

test("a changed line has three lines around it, and its place", () => {
  const lines = ["{", '  "a": 1,', '  "b": 2,', '  "c": 3,', '  "d": 4,', '  "e": 5', "}"];
  const text = (d: number): string => `${lines.join("\n").replace('"d": 4', `"d": ${d}`)}\n`;
  const [file] = diffOf([{ file: FILE, text: text(4) }], [{ file: FILE, text: text(9) }]);
  assert.deepEqual(file, {
    file: FILE,
    change: "changed",
    hunks: [
      {
        fromLine: 2,
        toLine: 2,
        lines: ['   "a": 1,', '   "b": 2,', '   "c": 3,', '-  "d": 4,', '+  "d": 9,', '   "e": 5', " }"],
      },
    ],
  });
});

test("files are added, removed, or left out where they are the same", () => {
  const texts = (names: readonly string[]) => names.map((name) => ({ file: name, text: `${name}\n` }));
  assert.deepEqual(
    diffOf(texts(["a", "b"]), texts(["b", "c"])).map(({ file, change, hunks }) => [file, change, hunks[0]?.lines]),
    [
      ["a", "removed", ["-a"]],
      ["c", "added", ["+c"]],
    ],
  );
});

test("a changed secret shows that it changed, and neither value; the same in a comment and in a file that is not valid", () => {
  const text = (password: string): string =>
    `{\n  // token=${password}\n  "env": { "DB_PASSWORD": "${password}" }\n}\n`;
  const shown = linesOf(text("hunter2"), text("swordfish"));
  assert.deepEqual(shown, [
    " {",
    "-  // token=***",
    '-  "env": { "DB_PASSWORD": "***" }',
    "+  // token=***",
    '+  "env": { "DB_PASSWORD": "***" }',
    " }",
  ]);
  assert.doesNotMatch(linesOf(text("hunter2"), `${text("swordfish")}}{"a"`).join("\n"), /hunter2|swordfish/);
});

test("line ends and a missing last line end are no lines", () => {
  assert.deepEqual(linesOf("{\r\n}\r\n", "{\n}"), ["-{", "-}", "+{", "+}"]);
  assert.deepEqual(linesOf("", "a"), ["+a"]);
  assert.deepEqual(linesOf("a\n", ""), ["-a"]);
});

test("texts with many thousand changed lines are shown as replaced", () => {
  const text = (kind: string): string => Array.from({ length: 6_000 }, (_, line) => `${kind} ${line}`).join("\n");
  const lines = linesOf(text("a"), text("b"));
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [12_000, "-a 0", "+b 5999"]);
});

test("property: the lines with - and space are the first text's, those with + and space the other's", () => {
  const text = fc.array(fc.constantFrom("a", "b", "", '  "c": 1,'), { maxLength: 12 }).map((lines) => lines.join("\n"));
  fc.assert(
    fc.property(text, text, (from, to) => {
      const hunks = diffOf([{ file: FILE, text: from }], [{ file: FILE, text: to }]).flatMap((each) => each.hunks);
      const [old, now] = [from, to].map((each) => each.split("\n"));
      for (const { fromLine, toLine, lines } of hunks) {
        const side = (marks: string): string[] =>
          lines.filter((l) => marks.includes(l.charAt(0))).map((l) => l.slice(1));
        const [before, after] = [side(" -"), side(" +")];
        assert.deepEqual(before, old?.slice(Math.max(0, fromLine - 1)).slice(0, before.length));
        assert.deepEqual(after, now?.slice(Math.max(0, toLine - 1)).slice(0, after.length));
      }
      assert.equal(hunks.length > 0, from !== to);
    }),
  );
});
