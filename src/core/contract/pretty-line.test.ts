/** Lines of JSON for people. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { prettyLine } from "./pretty-line.ts";

test("a line of JSON is shown as level, message and key=value, in color where there are colors", () => {
  const line = '{"level":40,"time":1,"msg":"slow query","ms":900,"user":"Ann B","tags":["a b"],"empty":"","sql":"a=1"}';
  const plain = 'WARN  slow query ms=900 user="Ann B" tags=["a b"] empty="" sql="a=1"';
  assert.equal(prettyLine(line, "warn", false), plain);
  assert.equal(
    prettyLine('{"level":"error","msg":"no","code":7}', "error", true),
    "\u001b[31mERROR\u001b[0m no \u001b[2mcode=\u001b[0m7",
  );
  assert.equal(prettyLine('{"msg":"up"}', "info", false), "INFO  up");
  assert.equal(prettyLine('{"level":"debug","n":1}', "debug", false), "DEBUG n=1");
});

test("a value of several lines stands below the others", () => {
  assert.equal(
    prettyLine('{"level":"error","stack":"Error: x\\n    at y","msg":"no","n":1}', "error", false),
    "ERROR no n=1\nstack=Error: x\n    at y",
  );
});

test("so does the stack of an error that is an object, and what only looks like one stays", () => {
  const line = JSON.stringify({
    level: 50,
    err: { type: "Error", stack: "Error: x\n    at y" },
    status: 503,
    msg: "no",
  });
  assert.equal(
    prettyLine(line, "error", false),
    'ERROR no err={"type":"Error"} status=503\nerr.stack=Error: x\n    at y',
  );
  assert.equal(
    prettyLine('{"level":50,"err":{"stack":"Error: x\\n    at y"},"msg":"no"}', "error", false),
    "ERROR no\nerr.stack=Error: x\n    at y",
  );
  for (const rest of ['"a":"{b\\\\n"', '"a":{"b":["c\\nd"]}'])
    assert.doesNotMatch(prettyLine(`{"msg":"no",${rest}}`, "error", false) ?? "", /\n/);
});

test("any other line stays as it is", () => {
  for (const text of ["", "text", '["a"]', '{"n":1}', "{broken", '{"level":"info"', `{"msg":"${"x".repeat(30_000)}"}`])
    assert.equal(prettyLine(text, "info", true), undefined);
});
