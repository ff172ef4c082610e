/** What docs/reference/reliability.md promises can't drift: it is compared with the record of the last release. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { breaksOf, recordedPromises, recordOf } from "../../scripts/promise-breaks.ts";
import { promises } from "../../scripts/promise-tables.ts";
import { MAY_BE_ABSENT } from "../../scripts/promised-schemas.ts";
import { VERSION } from "../../src/core/base/version.ts";

const recorded = recordedPromises();
const present = await promises();

test("what the last release has promised is still there, and unchanged", () => {
  const breaks = breaksOf(recorded, present);
  const remedy =
    "It is a break of docs/reference/reliability.md: restore it, or give the version a new first number and record it (docs/design/contributing.md, A release)";
  assert.equal(breaks.length, 0, `${breaks.join("\n")}\n${remedy}`);
});

test("the record is of the version that package.json names (else: node --import tsx scripts/promises.ts)", () => {
  assert.equal(recorded.version, VERSION);
});

test("each kind of promise has names, and the record is compared with all of them", () => {
  for (const [kind, names] of Object.entries(present)) assert.ok(Object.keys(names).length > 3, kind);
  assert.deepEqual(Object.keys(recorded.promises), Object.keys(present));
  assert.deepEqual(breaksOf(recordOf(present, VERSION), present), []);
});

test("a removed name, a changed default and a new name that must be given are breaks; additions are none", () => {
  const web = { facts: [MAY_BE_ABSENT, "object"] };
  const port = { facts: [MAY_BE_ABSENT, "integer", "default 80"] };
  const record = recordOf({ fields: { web, "web.port": port } }, "1.0.0");
  const broken = (names: Parameters<typeof recordOf>[0][string]): readonly string[] =>
    breaksOf(record, { fields: names });
  assert.deepEqual(broken({ web }), ["fields: web.port was removed"]);
  assert.deepEqual(broken({ web, "web.port": { facts: [MAY_BE_ABSENT, "integer", "default 81"] } }), [
    'fields: web.port was "default 80", and now "default 81"',
  ]);
  assert.deepEqual(broken({ web, "web.port": { facts: ["integer", "default 80"], mustBeGiven: true } }), [
    'fields: web.port was "may be absent", and no longer is',
  ]);
  const host = { facts: ["string"], mustBeGiven: true } as const;
  assert.deepEqual(broken({ web, "web.port": port, "web.host": host }), ["fields: web.host must be given, and is new"]);
  assert.deepEqual(broken({ web, "web.port": port, db: web, "db.host": host, "web.host": web }), []);
  assert.deepEqual(broken({ web: { facts: [...web.facts, "string"] }, "web.port": port }), []);
  const done = { facts: ["0"] };
  assert.deepEqual(breaksOf(recordOf({ "exit codes": { done } }, "1.0.0"), { "exit codes": { done, busy: done } }), [
    "exit codes: busy is new, and none may be",
  ]);
});
