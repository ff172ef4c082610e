/** Differences as tools read them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hunkPlace } from "./history-words.ts";

test("a hunk has first line and count of both texts, as diff -u writes it", () => {
  assert.equal(hunkPlace({ fromLine: 3, toLine: 4, lines: [" a", "-b", "+c", "+d", " e"] }), "@@ -3,3 +4,4 @@");
  assert.equal(hunkPlace({ fromLine: 1, toLine: 1, lines: ["+a"] }), "@@ -0,0 +1,1 @@", "a new file");
  assert.equal(hunkPlace({ fromLine: 1, toLine: 1, lines: ["-a"] }), "@@ -1,1 +0,0 @@", "a file that is gone");
});
