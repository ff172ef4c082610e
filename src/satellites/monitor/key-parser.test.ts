/** Keys from bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { KeyParser, type KeyPress } from "./key-parser.ts";

function keysOf(...chunks: readonly string[]): readonly KeyPress[] {
  const parser = new KeyParser();
  return [...chunks.flatMap((chunk) => parser.read(chunk)), ...parser.flush()];
}

const KEYS: readonly (readonly [string, KeyPress | undefined])[] = [
  ["q", { name: "text", text: "q" }],
  ["日", { name: "text", text: "日" }],
  ["👍", { name: "text", text: "👍" }],
  ["\r", { name: "enter" }],
  ["\u007f", { name: "backspace" }],
  ["\u0003", { name: "interrupt" }],
  ["\u001a", { name: "suspend" }],
  ["\u001b[A", { name: "up" }],
  ["\u001bOB", { name: "down" }],
  ["\u001b[1;5C", { name: "right" }],
  ["\u001b[5~", { name: "pageup" }],
  ["\u001b[6;2~", { name: "pagedown" }],
  ["\u001b[1~", { name: "home" }],
  ["\u001b[F", { name: "end" }],
  ["\u001b[<0;10;5M", { name: "click", row: 4, column: 9 }],
  ["\u001b[<65;1;1M", { name: "wheeldown", row: 0, column: 0 }],
  ["\u001b[200~stop\rme\u001b[201~", { name: "paste", text: "stop\rme" }],
  // Nothing of these: keys that the monitor doesn't know, a release of a button, Alt and a key, an answer of the
  // terminal.
  ["\u001b[24~", undefined],
  ["\u001b[<0;10;5m", undefined],
  ["\u001bx", undefined],
  ["\u001b[?62;1c", undefined],
  ["\u0000", undefined],
];

test("each key and each sequence is what it means; what is not known is nothing", () => {
  for (const [bytes, key] of KEYS)
    assert.deepEqual(keysOf(bytes), key === undefined ? [] : [key], JSON.stringify(bytes));
});

test("keys are the same wherever the bytes are cut, as by a slow connection", () => {
  const some = fc.array(fc.constantFrom(...KEYS), { maxLength: 6 });
  fc.assert(
    fc.property(some, fc.array(fc.nat(60)), (keys, cuts) => {
      const bytes = keys.map(([each]) => each).join("");
      // Node doesn't cut characters.
      const places = cuts
        .filter((at) => at < bytes.length && !/[\udc00-\udfff]/.test(bytes[at] ?? ""))
        .sort((one, other) => one - other);
      const chunks = [...places, bytes.length].map((end, index) => bytes.slice(places[index - 1] ?? 0, end));
      assert.deepEqual(
        keysOf(...chunks),
        keys.flatMap(([, key]) => key ?? []),
      );
    }),
  );
});

test("an Escape is one when nothing follows", () => {
  const parser = new KeyParser();
  assert.deepEqual(parser.read("\u001b"), []);
  assert.equal(parser.isBegun, true);
  assert.deepEqual(parser.flush(), [{ name: "escape" }]);
  assert.deepEqual(parser.flush(), []);
});

test("text that is pasted is not a command, however it ends and however long it is", () => {
  const parser = new KeyParser();
  assert.deepEqual(parser.read("\u001b[200~x"), []);
  assert.equal(parser.isBegun, false);
  assert.deepEqual(parser.read(`${"y".repeat(100_000)}\u001b[20`), []);
  const [paste] = parser.read("1~q");
  assert.ok(paste?.name === "paste" && paste.text.startsWith("xyy") && paste.text.length <= 65_536);
});
