import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cutMark, HEAD_ROOM, LineSplitter, MAX_LINE_BYTES } from "./line-splitter.ts";

const NEWLINE = 0x0a;
/** Bytes with many newlines and starts of UTF-8 characters. */
const byte = fc.oneof(
  fc.constantFrom(NEWLINE, 0x0d, 0xc3, 0xa4, 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0x98, 0x80, 0x41),
  fc.nat(255),
);
const bytes = fc.array(byte, { maxLength: 400 }).map((list) => Buffer.from(list));

function split(
  chunks: readonly Buffer[],
  limit?: number,
): { readonly whole: Buffer; readonly parts: readonly Buffer[] } {
  const parts: Buffer[] = [];
  const splitter = new LineSplitter((lines) => parts.push(Buffer.from(lines)), limit);
  for (const chunk of chunks) {
    const area = Buffer.concat([Buffer.alloc(HEAD_ROOM, NEWLINE), chunk, Buffer.alloc(64, NEWLINE)]);
    splitter.push(area, HEAD_ROOM, HEAD_ROOM + chunk.length);
  }
  splitter.flush();
  return { whole: Buffer.concat(parts), parts };
}

function chunked(whole: Buffer, cuts: readonly number[]): readonly Buffer[] {
  const places = [...cuts.map((cut) => cut % (whole.length + 1)), 0, whole.length].sort((a, b) => a - b);
  return places.slice(1).map((place, index) => whole.subarray(places[index], place));
}

function ended(whole: Buffer): Buffer {
  return whole.length === 0 || whole.at(-1) === NEWLINE ? whole : Buffer.concat([whole, Buffer.of(NEWLINE)]);
}

describe("line splitter", () => {
  it("emits the same bytes in whole lines, however they are chunked", () => {
    fc.assert(
      fc.property(bytes, fc.array(fc.nat(), { maxLength: 20 }), (whole, cuts) => {
        const result = split(chunked(whole, cuts));
        assert.deepEqual(result.whole, ended(whole));
        for (const part of result.parts) assert.equal(part.at(-1), NEWLINE);
      }),
    );
  });

  it("cuts long lines at the same places, however they are chunked, and loses no byte", () => {
    fc.assert(
      fc.property(
        bytes,
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.integer({ min: 4, max: 40 }),
        (whole, cuts, limit) => {
          const result = split(chunked(whole, cuts), limit).whole;
          assert.deepEqual(result, split([whole], limit).whole);
          const joined = result.toString("latin1").replaceAll(Buffer.from(cutMark(limit)).toString("latin1"), "");
          assert.equal(joined, ended(whole).toString("latin1"));
        },
      ),
    );
  });

  it("cuts a long line between characters", () => {
    const text = "ä€😀".repeat(50);
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 40 }), (limit) => {
        const pieces = split([Buffer.from(text)], limit)
          .whole.toString()
          .split("\n")
          .slice(0, -1);
        assert.equal(pieces.map((piece) => piece.replace(cutMark(limit).trimEnd(), "")).join(""), text);
        assert.ok(!pieces.some((piece) => piece.includes("\ufffd")));
      }),
    );
  });

  it("never mixes the lines of streams with the same destination", () => {
    const stream = fc.array(fc.stringMatching(/^[a-z]{0,9}\n?$/), { maxLength: 30 });
    fc.assert(
      fc.property(stream, stream, fc.array(fc.boolean(), { maxLength: 60 }), (ones, twos, turns) => {
        const written: string[] = [];
        const waiting = [ones.map((text) => text.toUpperCase()), twos];
        const expected = waiting.map((chunks) => ended(Buffer.from(chunks.join(""))).toString());
        const splitters = waiting.map(() => new LineSplitter((lines) => written.push(lines.toString())));
        for (const turn of [...turns, ...ones.map(() => false), ...twos.map(() => true)]) {
          const chunk = Buffer.from(waiting[Number(turn)]?.shift() ?? "");
          splitters[Number(turn)]?.push(
            Buffer.concat([Buffer.alloc(HEAD_ROOM), chunk]),
            HEAD_ROOM,
            HEAD_ROOM + chunk.length,
          );
        }
        for (const splitter of splitters) splitter.flush();
        const lines = written.join("").match(/.*\n/g) ?? [];
        const own = [lines.filter((line) => /^[A-Z]+\n$/.test(line)), lines.filter((line) => /^[a-z]+\n$/.test(line))];
        const isFilled = (line: string): boolean => line !== "\n";
        assert.deepEqual(
          own.map((list) => list.join("")),
          expected.map((text) => (text.match(/.*\n/g) ?? []).filter(isFilled).join("")),
        );
      }),
    );
  });

  it("doesn't cut a line of exactly the limit", () => {
    const line = Buffer.from(`${"x".repeat(MAX_LINE_BYTES)}\n`);
    const chunks = Array.from({ length: 17 }, (_, index) => line.subarray(index * 65536, (index + 1) * 65536));
    assert.deepEqual(split(chunks).whole, line);
  });

  it("buffers no more than the limit of a line of 100 MB", () => {
    const chunk = 64 * 1024;
    const area = Buffer.alloc(HEAD_ROOM + chunk, "x");
    let taken = 0;
    let most = 0;
    const splitter = new LineSplitter((lines) => {
      taken += lines.length - Buffer.byteLength(cutMark(MAX_LINE_BYTES));
      most = Math.max(most, lines.buffer.byteLength);
    });
    for (let pushed = 0; pushed < 100e6; pushed += chunk) splitter.push(area, HEAD_ROOM, area.length);
    assert.ok(taken > 98e6);
    assert.ok(most <= MAX_LINE_BYTES + 1024, `buffer of ${most} bytes`);
  });
});
