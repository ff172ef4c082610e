import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyEscapes } from "./key-escapes.ts";

/** What each of these chunks of keys gives. */
function reading(...chunks: readonly string[]): readonly string[] {
  const escapes = new KeyEscapes();
  return chunks.map((chunk) => {
    const { bytes, command = "" } = escapes.read(Buffer.from(chunk));
    return `${Buffer.from(bytes)}${command && ` ${command}`}`;
  });
}

test("~. leaves and ~? asks for help at the beginning and behind a line end, in one chunk or key by key", () => {
  assert.deepEqual(reading("~."), [" leave"]);
  assert.deepEqual(reading("~", "."), ["", " leave"]);
  assert.deepEqual(reading("ls\r~."), ["ls\r leave"]);
  assert.deepEqual(reading("ls\n", "~?", "~."), ["ls\n", " help", " leave"]);
});

test("a tilde elsewhere, a doubled one and one before another key are passed on", () => {
  assert.deepEqual(reading("cd ~.", "~/x"), ["cd ~.", "~/x"]);
  assert.deepEqual(reading("~~.x"), ["~.x"]);
  assert.deepEqual(reading("~", "/x"), ["", "~/x"]);
  assert.deepEqual(reading("~\r~."), ["~\r leave"]);
});

test("bytes that are no text, and Ctrl-C, are passed on as they are", () => {
  const bytes = Uint8Array.from([0xff, 0x03, 0x1b, 0x00]);
  assert.deepEqual(new KeyEscapes().read(bytes), { bytes });
});
