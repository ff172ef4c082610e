import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { stamp } from "../base/time-stamp.ts";
import { binary, decorate, fileId } from "./line-splitter.ts";

describe("decorate", () => {
  it("puts text around each line and changes no byte of any line", () => {
    const line = fc.uint8Array({ maxLength: 50 }).map((list) => Buffer.from(list.filter((byte) => byte !== 0x0a)));
    const decoration = fc
      .record({ before: fc.string({ unit: "binary" }), after: fc.string() })
      .map(({ before, after }) => ({ before: before.replaceAll("\n", ""), after: after.replaceAll("\n", "") }));
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), decoration, (lines, { before, after }) => {
        const whole = Buffer.concat(lines.flatMap((each) => [each, Buffer.from("\n")]));
        const expected = Buffer.concat(
          lines.flatMap((each) => [Buffer.from(before), each, Buffer.from(after), Buffer.from("\n")]),
        );
        assert.deepEqual(Buffer.from(decorate(whole, { before: binary(before), after: binary(after) })), expected);
      }),
    );
  });

  it("handles more than its buffer holds", () => {
    const whole = Buffer.from("\n".repeat(65536));
    assert.equal(decorate(whole, { before: "0123456789", after: "" }).length, 11 * 65536);
  });

  it("keeps the prefix of file lines below 100 bytes", () => {
    assert.equal(fileId("web"), "web ");
    assert.ok(fileId("ä".repeat(500)).length + stamp(0).length + 3 < 100);
    assert.equal(Buffer.from(fileId("ä".repeat(500)), "latin1").toString(), `${"ä".repeat(32)} `);
  });

  it("stamps in ISO format, UTC, milliseconds", () => {
    assert.equal(stamp(Date.UTC(2026, 10, 21, 10, 0, 0, 7)), "2026-11-21T10:00:00.007Z");
  });
});
