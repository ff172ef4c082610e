import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { textsIn, wordList } from "../../scripts/word-list.ts";
import { plant } from "../support/planted-tree.ts";

/** Lines of source, and the texts in them that a user may read. */
const TEXTS: readonly (readonly [source: string, ...texts: readonly string[]])[] = [
  ['const a = "is not ready";', "is not ready"],
  ['const a = "Restart";', "Restart"],
  ['const a = "it\\nruns: C:\\\\";', "it\\nruns: C:\\\\"],
  ["const a = `Cannot start ${id}: ${of(id)}`;", "Cannot start {id}: {of(id)}"],
  ["const a = `${of({ id, name, status, reason, restarts, code, signal })} has ended`;", "{…} has ended"],
  ['const a = "Cannot start " + (id + ": it runs");', "Cannot start {id}: it runs"],
  ['const a = { label: "runs", "aria-label": "ends", name: "web" };', "runs", "ends"],
  ['const a = <p>No run in <b>{days}</b> {"days"}.</p>;', "No run in {days} days."],
  ['const a = <p>{open ? "shown" : "hidden"}</p>;', "shown", "hidden"],
  ['const a = <p class="two words" title={open && "seen"}><i>Ends now</i></p>;', "seen", "Ends now"],
];

/** Lines of source without one: names, values of one word in lower case, and comparisons. */
const NO_TEXTS = [
  'import { a } from "Some module";',
  'type A = "Two words";',
  'const a = ["running", "a-b", "/run/x", "%d %s"];',
  'const a = { "Two words": 1, ["Two words"]: 2 };',
  'const a = b["Two words"] ?? b === "Two words";',
  'switch (b) { case "Two words": }',
  "const a = /Two words/;",
  'const a = <svg viewBox="Two words" class={open ? "Two words" : "b"} />;',
];

test("the list has each text that a user may read, once, with its values in braces", () => {
  for (const [source, ...texts] of TEXTS) assert.deepEqual(textsIn("a.tsx", `${source}\n${source}`), texts, source);
});

test("names, keys, patterns and what something is compared with are left out of the list", () => {
  for (const source of NO_TEXTS) assert.deepEqual(textsIn("a.tsx", source), [], source);
});

test("the list is sorted by file, and has neither tests nor files without a text", () => {
  const root = plant({
    "b.ts": 'f("Ends now");',
    "a/c.tsx": "<p>Runs</p>",
    "a/c.test.ts": 'f("Not seen");',
    "d.ts": "",
  });
  assert.deepEqual(wordList(root).split("\n\n").slice(1), [`${root}/a/c.tsx\n  Runs`, `${root}/b.ts\n  Ends now\n`]);
});

test("generated/words.txt has the texts of the source: `npm run words` writes it", () => {
  const [kept, made] = [readFileSync("generated/words.txt", "utf8"), wordList("src")].map((text) => text.split("\n"));
  const without = (these: readonly string[] = [], others: readonly string[] = []): readonly string[] => {
    const known = new Set(others);
    return these.filter((line) => !known.has(line));
  };
  const remedy = "run `npm run words`, and read its diff";
  assert.deepEqual({ added: without(made, kept), gone: without(kept, made) }, { added: [], gone: [] }, remedy);
  assert.deepEqual(kept, made, remedy);
});
