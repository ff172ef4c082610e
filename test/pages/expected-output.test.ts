/** What counts as the output that a page shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { differenceOf } from "./expected-output.ts";
import { blocksOf } from "./page-blocks.ts";

const SHOWN = "ID   STATUS   PID\nweb  running  4711\n…\ndone";

test("output with other numbers, times and widths is what the page shows; other words, further and missing lines are not", () => {
  assert.equal(differenceOf(SHOWN, "ID   STATUS   PID\nweb  running  20814 \n\nfurther\ndone\n"), undefined);
  assert.match(
    differenceOf(SHOWN, "ID   STATUS   PID\nweb  stopped  4711\ndone\n") ?? "",
    /without the line\n {2}web running N/,
  );
  assert.notEqual(differenceOf(SHOWN, "ID   STATUS   PID\nweb  running  4711\ndone\nand more\n"), undefined);
});

test("blocks are fenced or indented; a comment above one says why it is not run", () => {
  const page = "text\n\n    a\n\n    b\n\n<!-- not run: a picture -->\n\n```text\nc\n```\n- item\n  continued\n";
  const blocks = blocksOf("page.md", page).map(({ line, language, text, notRun }) => ({
    line,
    language,
    text,
    notRun,
  }));
  assert.deepEqual(blocks, [
    { line: 3, language: "sh", text: "a\n\nb\n", notRun: undefined },
    { line: 10, language: "text", text: "c\n", notRun: "a picture" },
  ]);
});
