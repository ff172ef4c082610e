import assert from "node:assert/strict";
import { test } from "node:test";
import { copyOfShared, discard, giveBack, keepCopy, shared, takeLarge } from "./buffer-pool.ts";

test("a kept copy has the bytes that were read, whatever is read later", () => {
  const copies = [
    "one",
    "two",
    "x".repeat(9_000),
    "four",
    "y".repeat(16_000),
    "z".repeat(16_000),
    "z".repeat(16_000),
  ].map((text) => {
    shared.write(text);
    const copy = copyOfShared(text.length);
    keepCopy(text.length);
    return { text, copy };
  });
  shared.fill(0);
  for (const { text, copy } of copies) assert.equal(copy.toString(), text);
  shared.write("five");
  assert.equal(copyOfShared(4).toString(), "five");
  shared.write("six");
  assert.equal(copyOfShared(3).toString(), "six");
  for (const { text, copy } of copies) assert.equal(copy.toString(), text);
});

test("the first connections get huge buffers, also after earlier ones were given back or discarded", () => {
  const sizes = (): readonly number[] => {
    const buffers = Array.from({ length: 20 }, takeLarge);
    for (const [index, buffer] of buffers.entries()) (index % 2 === 0 ? giveBack : discard)(buffer);
    return buffers.map(({ length }) => length);
  };
  const first = sizes();
  assert.deepEqual(new Set(first.slice(0, 16)), new Set([262_144]));
  assert.deepEqual(new Set(first.slice(16)), new Set([65_536]));
  assert.deepEqual(sizes(), first);
});
