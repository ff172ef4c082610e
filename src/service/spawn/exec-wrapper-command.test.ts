import assert from "node:assert/strict";
import { test } from "node:test";
import { shellArgv } from "./exec-wrapper.ts";

test("2.2 cmd: a plain program with plain arguments needs no shell", () => {
  for (const line of ["redis-server --port 7000", "node app.js", "  ./run   --dir=/a/b,c@1 ", "/usr/bin/env -S x:y"])
    assert.deepEqual(shellArgv(line), line.trim().split(/\s+/));
});

test("2.2 cmd: a single command that needs a shell becomes the program", () => {
  const lines = [
    "node app.js > out.log",
    'node "my app.js"',
    "echo-server '$x' a\\ b",
    "node app.js $PORT",
    "ls *.log",
    "tail -f x 2>&1",
    'p "a;b|c&d"',
    "p ~/x",
    "p </dev/null",
    '"/opt/my app/run" x',
    "'/opt/my app/run'",
  ];
  for (const line of lines) assert.deepEqual(shellArgv(line), ["/bin/sh", "-c", `exec ${line}`], line);
});

test("2.2 cmd: everything else stays the shell's", () => {
  const lines = [
    "a && b",
    "a | b",
    "a; b",
    "a &",
    "(a)",
    "for i in 1 2; do echo $i; done",
    "cat <<E\nx\nE",
    "a\nb",
    "A=1 b",
    "$cmd x",
    "`which x`",
    "x $(y)",
    'x "$(y)"',
    "cd /x",
    "exit 3",
    ". ./env",
    "if true; then a; fi",
    "! a",
    "{ a; }",
    "a 'open",
    'a "open',
    "a \\",
    "exec x",
    "'my prog' x",
    "echo hi",
    "trap '' TERM",
    "time x",
    "x & # y",
    "",
    "x # comment",
    "A=1",
  ];
  for (const line of lines) assert.deepEqual(shellArgv(line), ["/bin/sh", "-c", line], line);
});
