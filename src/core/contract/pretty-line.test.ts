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

test("any other line stays as it is", () => {
  for (const text of ["", "text", '["a"]', '{"n":1}', "{broken", '{"level":"info"', `{"msg":"${"x".repeat(30_000)}"}`])
    assert.equal(prettyLine(text, "info", true), undefined);
});
