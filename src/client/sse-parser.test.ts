import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { EventParser } from "./sse-parser.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("events may have several lines of data, comments, ids, names and reconnection delays; a field may have no value or space", () => {
  const parser = new EventParser();
  const events = parser.read(
    bytes(
      ": hi\nretry: 700\nid: 1\nevent: log\ndata: a\ndata:b\ndata\n\ndata:  two spaces\n\nid\nevent: none\n\nretry: soon\ndata: {}\n\ndata: lost",
    ),
  );
  assert.deepEqual(events, [
    { type: "log", data: "a\nb\n", id: "1" },
    { type: "message", data: " two spaces", id: "1" },
    { type: "message", data: "{}", id: "" },
  ]);
  assert.deepEqual([parser.lastEventId, parser.retryMs], ["", 700]);
  parser.reset();
  assert.deepEqual(parser.read(bytes("data: new\n\n")), [{ type: "message", data: "new", id: "" }]);
});

test("the events are the same for any chunks and line ends", () => {
  const text = "\uFEFFid: ü1\nevent: log\ndata: 🎉 a\ndata: b\n\n:\n\ndata: c\n\n";
  const expected = [
    { type: "log", data: "🎉 a\nb", id: "ü1" },
    { type: "message", data: "c", id: "ü1" },
  ];
  fc.assert(
    fc.property(fc.constantFrom("\n", "\r\n", "\r"), fc.array(fc.nat(90)), (end, cuts) => {
      const all = bytes(text.replaceAll("\n", end));
      const parser = new EventParser();
      const places = [...new Set([0, ...cuts.filter((cut) => cut < all.length), all.length])].toSorted((a, b) => a - b);
      const events = places.flatMap((place, index) => parser.read(all.subarray(places[index - 1] ?? 0, place)));
      assert.deepEqual(events, expected);
    }),
    { numRuns: 500 },
  );
});
