/** For any input, the parsers of queries and bodies return valid values or throw `input-invalid`; `PROCMAN_FUZZ_SECONDS` tries longer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ProcmanError } from "../base/errors.ts";
import { faultsOf } from "../base/schema-check.ts";
import { parse } from "../http/request-body.ts";
import { LOG_SUBMISSION, SCALING, TELEMETRY_REPORT } from "./input-schemas.ts";
import { EVENTS, invalid, LOGS, METRICS, readQuery, WAIT, writeQuery } from "./query.ts";

const SECONDS = Number(process.env.PROCMAN_FUZZ_SECONDS ?? 0);
const effort =
  SECONDS > 0 ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: SECONDS * 1_000 } : { numRuns: 300 };

const names = fc.constantFrom(
  ...Object.keys({ ...LOGS, ...METRICS, ...EVENTS, ...WAIT }),
  "__proto__",
  "constructor",
  "toString",
);
const pieces = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "1",
    "0",
    "-1",
    "1e9",
    "100",
    "web,job",
    "%",
    "%zz",
    "%ff",
    "&",
    "=",
    "2026-01-31T12:00:00Z",
    "2026-01-31T12:00:00+01:00",
  ),
  fc.integer().map(String),
  fc.date().map((date) => (Number.isNaN(date.getTime()) ? "Invalid" : date.toISOString())),
);
const queries = fc
  .array(fc.tuple(names, pieces))
  .map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join("&"));

function refusal(call: () => unknown): ProcmanError | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof ProcmanError, String(error));
    assert.equal(error.code, "input-invalid");
    assert.ok(error.faults.length > 0 && error.faults.length <= 20);
    return error;
  }
}

test("any query of the log is read or refused, and what was read is valid", () => {
  fc.assert(
    fc.property(fc.oneof(queries, fc.string({ unit: "binary" })), (text) => {
      refusal(() => {
        const values = readQuery(text, LOGS);
        for (const [name, value] of Object.entries(values)) {
          assert.ok(Object.hasOwn(LOGS, name), name);
          const { kind, schema } = LOGS[name as keyof typeof LOGS];
          if (kind === "time") assert.ok(Number.isFinite(new Date(value as number).getTime()), text);
          else assert.deepEqual(faultsOf(value, schema, name), []);
        }
      });
    }),
    effort,
  );
});

test("a written query is read with the same values", () => {
  const value = fc.record(
    {
      process: fc.array(fc.stringMatching(/^[a-z0-9._-]{1,64}$/), { minLength: 1, maxLength: 5 }),
      search: fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }),
      limit: fc.integer({ min: 1, max: 10_000 }),
      from: fc.integer({ min: 0, max: 8.64e15 }),
      follow: fc.constant(true),
      order: fc.constantFrom("asc", "desc"),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(value, (given) => {
      assert.deepEqual(readQuery(writeQuery(given).slice(1), LOGS), { ...given });
    }),
    effort,
  );
});

test("any body is accepted or refused, without another error", () => {
  const near = fc.record(
    {
      text: fc.oneof(fc.string(), fc.jsonValue()),
      severity: fc.oneof(fc.constant("info"), fc.jsonValue()),
      process: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.json().map((text) => new TextEncoder().encode(text)),
    near.map((value) => new TextEncoder().encode(JSON.stringify(value))),
  );
  fc.assert(
    fc.property(bytes, (body) => {
      refusal(() => {
        const value = parse(body);
        for (const schema of [LOG_SUBMISSION, TELEMETRY_REPORT])
          assert.ok(faultsOf(value, schema, "body").length <= 40);
        if (faultsOf(value, LOG_SUBMISSION, "body").length > 0) return;
        assert.equal(typeof (value as { readonly text: unknown }).text, "string");
      });
    }),
    effort,
  );
});

test('a number of instances is a whole number, "max" or "auto", and the error names them', () => {
  const fault = (instances: unknown): readonly string[] =>
    faultsOf({ instances }, SCALING, "body").map(({ message }) => message);
  for (const good of [1, 1_024, "max", "auto"]) assert.deepEqual(fault(good), []);
  assert.deepEqual(fault("many"), ['must be a whole number or "max" or "auto", not "many"']);
  assert.deepEqual(fault(1.5), ['must be a whole number or "max" or "auto", not 1.5']);
  assert.deepEqual(fault(0), ["must be 1 to 1024, not 0"]);
});

test("times are read as people write them", () => {
  const from = (text: string): unknown => readQuery(`from=${text}`, LOGS).from;
  const noon = Date.UTC(2026, 0, 31, 12);
  for (const text of [
    "2026-01-31T12:00:00Z",
    "2026-01-31T13:00:00+01:00",
    "2026-01-31T13:00:00%2B01:00",
    "2026-01-31T12:00Z",
    String(noon),
  ])
    assert.equal(from(text), noon, text);
  for (const text of [
    "",
    "noon",
    "-1",
    "99999999999999999",
    "2026-13-01",
    " 5",
    "2026-02-30",
    "2026-02-30T00:00:00Z",
    "2026-04-31",
    "2026-02-29",
    "2026-00-10",
    "2026-01-00",
    "1 2026",
  ])
    assert.match(refusal(() => from(text))?.message ?? "", /must be a time like/, text);
});

test("a parameter that isn't known is answered with the one that is meant, else with all", () => {
  assert.throws(() => readQuery("limti=2", LOGS), /"query\.limti" is not known\. Did you mean "limit"\?$/);
  assert.throws(() => readQuery("lines=2", LOGS), /"query\.lines" is not known\. Allowed: .*\blimit\b.*\w$/);
});

test("the first fault is a sentence, and the others are counted", () => {
  const fault = (...messages: readonly string[]): string =>
    invalid(messages.map((message) => ({ place: "query.x", message }))).message;
  assert.equal(fault("is not known."), 'Cannot take this request: "query.x" is not known');
  assert.equal(fault("is not known.", "b"), 'Cannot take this request: "query.x" is not known; and 1 more');
  assert.equal(
    fault('is not known. Did you mean "y"?', "b", "c"),
    'Cannot take this request: "query.x" is not known. Did you mean "y"? And 2 more',
  );
});
