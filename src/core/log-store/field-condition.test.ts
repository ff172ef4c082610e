/** Conditions on fields of JSON lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ProcmanError } from "../base/errors.ts";
import { FieldCondition } from "./field-condition.ts";

/** What the bytes alone refuse never holds. */
function holds(condition: string, line: string): boolean {
  const asked = new FieldCondition(condition);
  const before = '{"status":500,"id":7}\n';
  const bytes = Buffer.from(`${before}${line}\n${before}`);
  const end = before.length + Buffer.byteLength(line);
  const result = asked.holds(JSON.parse(line));
  if (result) {
    assert.ok(asked.mayHold(bytes, before.length, end), `${condition}: ${line}`);
    for (const part of [asked.key, asked.part])
      assert.ok(part === undefined || part.find(bytes, before.length, end) !== -1, `${condition}: ${line}`);
  }
  return result;
}

test("a condition compares numbers as numbers and texts as texts", () => {
  const line = '{"status": 500, "ms":1.50,"path":"/a","ok":true,"user":null,"n":"12","at":"2026-11-27T10:00:00Z"}';
  for (const [condition, expected] of [
    ["status=500", true],
    ["status==500", true],
    ["status = 500", true],
    ["status=500.0", true],
    ["status=50", false],
    ["status!=500", false],
    ["status!=200", true],
    ["status>=500", true],
    ["status>500", false],
    ["status>499.9", true],
    ["status<1000", true],
    ["status<=499", false],
    ["ms=1.5", true],
    ["ms<2", true],
    ["path=/a", true],
    ["path!=/b", true],
    ['path="/a"', true],
    ["path>/", true],
    ["path=a", false],
    ["ok=true", true],
    ["ok!=false", true],
    ["ok>=1", false],
    ["user=null", true],
    ["user=", false],
    ["n=12", true],
    ["n>9", true],
    ["at>=2026-11-27", true],
    ["at<2026-11-27", false],
    ["missing=1", false],
    ["missing!=1", false],
    ["Status=500", false],
  ] as const)
    assert.equal(holds(condition, line), expected, condition);
});

test("dots lead into objects and arrays, or are part of a name; of an array one element counts", () => {
  assert.ok(holds("req.id=7", '{"req":{"id":7,"url":"/"}}'));
  assert.ok(holds("req.id=7", '{"req.id":7}'));
  assert.ok(holds("a.b.c=1", '{"a.b":{"c":1}}'));
  assert.ok(holds("a.b.c=1", '{"a":{"x":1},"a.b":{"c":1}}'));
  assert.ok(!holds("id=7", '{"req":{"id":7}}'));
  assert.ok(holds("tags=b", '{"tags":["a","b"]}'));
  assert.ok(!holds("tags!=b", '{"tags":["a","b"]}'));
  assert.ok(holds("tags!=c", '{"tags":["a","b"]}'));
  assert.ok(holds("items.1.id=5", '{"items":[{"id":4},{"id":5}]}'));
  assert.ok(holds("tags.0=a", '{"tags":["a"]}'));
  assert.ok(!holds("req=7", '{"req":{"req":7}}'));
  assert.ok(holds("req!=7", '{"req":{}}'));
  assert.ok(!holds("__proto__=1", "{}"));
  assert.ok(!holds("length=1", '["a"]'));
});

test("texts are found however a program escapes them", () => {
  assert.ok(holds('name="a b"', '{"name":"a b"}'));
  assert.ok(holds('name=a"b', '{"name":"a\\"b"}'));
  assert.ok(holds("name=Müller", '{"name":"M\\u00fcller"}'));
  assert.ok(holds("name=Müller", '{"name":"Müller"}'));
  assert.ok(holds("größe=1", '{"gr\\u00f6\\u00dfe":1}'));
  assert.ok(holds("path=/a/<b>&c=d", '{"path":"\\/a\\/\\u003cb\\u003e\\u0026c\\u003dd"}'));
  assert.ok(holds("text=a\nb", '{"text":"a\\nb"}'));
  assert.ok(holds("commit=12e5678", '{"commit":"12e5678"}'));
  assert.ok(holds("id=0x10", '{"id":"0x10"}'));
  assert.ok(!holds("id=0x10", '{"id":16}'));
});

test("long ids that are equal as numbers are told apart", () => {
  const bytes = Buffer.from('{"id":12345678901234567891}');
  assert.ok(new FieldCondition("id=12345678901234567891").mayHold(bytes, 0, bytes.length));
  assert.ok(!new FieldCondition("id=12345678901234567892").mayHold(bytes, 0, bytes.length));
});

test("what isn't a condition is refused with an example", () => {
  for (const text of ["", "status", "=5", "status>", "status>=", "!x", " = 1", "status ~ 5"])
    assert.throws(
      () => new FieldCondition(text),
      (error) =>
        error instanceof ProcmanError &&
        error.code === "input-invalid" &&
        /^Cannot filter by ".*": write a field, one of .*, such as status>=500 or req\.id=7$/.test(error.message),
      text,
    );
});

test("the bytes of a line never refuse what its fields say", () => {
  const name = fc.constantFrom("a", "b", "a.b", "ä", '"', "0", "status");
  const scalar = fc.oneof(
    fc.constantFrom(
      "x",
      "5",
      "5.0",
      "",
      "ä",
      'a"b',
      "\\",
      "true",
      "1e2",
      5,
      5.5,
      -1,
      1e21,
      1e-7,
      2 ** 60,
      100,
      true,
      null,
    ),
    fc.string({ maxLength: 3 }),
    fc.double(),
  );
  const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(name, scalar, { maxKeys: 2 }));
  const object = fc.dictionary(name, fc.oneof(value, fc.dictionary(name, value, { maxKeys: 2 })), { maxKeys: 4 });
  const asked = fc.tuple(
    fc.constantFrom("a", "b", "a.b", "a.0", "ä", "status", "a.b.ä"),
    fc.constantFrom("=", "!=", ">", ">=", "<", "<="),
    fc.oneof(
      scalar.map(String),
      scalar.map((each) => JSON.stringify(each)),
    ),
  );
  fc.assert(
    fc.property(object, asked, (line, [field, operator, text]) => {
      // ">" and "=" are ">=": what is left has to be a value.
      fc.pre(!(/[<>]/.test(operator) && /^\s*=?\s*$/.test(text)));
      holds(`${field}${operator}${text}`, JSON.stringify(line));
    }),
    { numRuns: 2_000 },
  );
});
