/** What lines say of themselves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, leadingLevel } from "./line-fields.ts";

test("a line of JSON has a message and other members; its level, by name or number, and its time stand elsewhere", () => {
  assert.deepEqual(fieldsOf('{"level":"warn","msg":"slow","ms":900,"tags":["a"],"time":1}'), {
    hasLevel: true,
    message: "slow",
    rest: [
      ["ms", "900"],
      ["tags", '["a"]'],
    ],
  });
  assert.deepEqual(fieldsOf('{"level":50,"msg":"no"}'), { hasLevel: true, message: "no", rest: [] });
  assert.equal(fieldsOf('{"severity":"CRITICAL","message":"x"}')?.hasLevel, true);
  assert.deepEqual(fieldsOf('{"level":{"a":1},"msg":"x"}'), {
    hasLevel: false,
    message: "x",
    rest: [["level", '{"a":1}']],
  });
  assert.equal(fieldsOf('{"n":1}'), undefined, "neither level nor message");
  assert.equal(fieldsOf("{not json}"), undefined);
  assert.equal(fieldsOf("null"), undefined);
  assert.equal(fieldsOf(`{"msg":"x","a":${"[".repeat(9_900)}${"]".repeat(9_900)}}`)?.message ?? "x", "x", "very deep");
});

test("a level at the beginning of a text counts, one within it doesn't", () => {
  assert.equal(leadingLevel("warn GET /items 523"), "warn");
  assert.equal(leadingLevel("2026-11-26 11:14:35,071 ERROR cannot connect"), "error");
  assert.equal(leadingLevel("[INFO] up"), "info");
  assert.equal(leadingLevel("an error of the user"), undefined);
  assert.equal(leadingLevel("information"), undefined);
});
