/** What lines say of themselves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, leadingLevel } from "./json-fields.ts";

test("a line of JSON has the level of its logger, by name or pino's number, its message and its other members", () => {
  assert.deepEqual(fieldsOf('{"level":"warn","msg":"slow","ms":900,"tags":["a"],"time":1}'), {
    level: "warn",
    message: "slow",
    rest: [
      ["ms", "900"],
      ["tags", '["a"]'],
    ],
  });
  assert.deepEqual(fieldsOf('{"level":50,"msg":"no"}'), { level: "error", message: "no", rest: [] });
  assert.equal(fieldsOf('{"severity":"CRITICAL","message":"x"}')?.level, "error");
  assert.equal(fieldsOf('{"n":1}'), undefined, "neither level nor message");
  assert.equal(fieldsOf("{not json}"), undefined);
  assert.equal(fieldsOf("null"), undefined);
});

test("a level at the beginning of a text counts, one within it doesn't", () => {
  assert.equal(leadingLevel("warn GET /items 523"), "warn");
  assert.equal(leadingLevel("2026-11-26 11:14:35,071 ERROR cannot connect"), "error");
  assert.equal(leadingLevel("[INFO] up"), "info");
  assert.equal(leadingLevel("an error of the user"), undefined);
  assert.equal(leadingLevel("information"), undefined);
});
