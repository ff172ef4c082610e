import assert from "node:assert/strict";
import { test } from "node:test";
import { shellArgv } from "./executed-command.ts";

test("2.2 cmd: a plain program with plain arguments needs no shell", () => {
  for (const line of ["redis-server --port 7000", "node app.js", "  ./run   --dir=/a/b,c@1 ", "/usr/bin/env -S x:y"])
    assert.deepEqual(shellArgv(line), line.trim().split(/\s+/));
  assert.deepEqual(shellArgv("x y # comment"), ["x", "y"]);
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
    "'my prog' x",
    '"$DIR/run" x',
    "~/bin/run",
    "x $(y)",
    'x "$(y "a b")" `z` $((1 + 2)) ${A:-b c}',
  ];
  for (const line of lines) assert.deepEqual(shellArgv(line), ["/bin/sh", "-c", `exec ${line}`], line);
});

test("2.2 cmd: a program with variables before it, or the last of a list, takes the place of the shell", () => {
  const lines = {
    "NODE_ENV=production node x.js": "NODE_ENV=production exec node x.js",
    "FOO=$HOME BAR='a b' cmd": "FOO=$HOME BAR='a b' exec cmd",
    ">log A=1 cmd 2>&1": ">log A=1 exec cmd 2>&1",
    "cd dir && cmd": "cd dir && exec cmd",
    "a && b || c | d; cmd > x 2>&1 < y;": "a && b || c | d; exec cmd > x 2>&1 < y;",
    "set -eu\nexport A=1 # for b\n\nA=2 b\n": "set -eu\nexport A=1 # for b\n\nA=2 exec b\n",
    "test -f x ||\n  exit 3\n'my prog'": "test -f x ||\n  exit 3\nexec 'my prog'",
    "cd x && exec node y": "cd x && exec node y",
    "test -f x && exec a; exec >log; b": "test -f x && exec a; exec >log; exec b",
    "trap '' HUP; exec node y": "trap '' HUP; exec node y",
  };
  for (const [line, given] of Object.entries(lines)) assert.deepEqual(shellArgv(line), ["/bin/sh", "-c", given], line);
});

test("2.2 cmd: everything else stays the shell's", () => {
  const lines = [
    "a | b",
    "a && b | c",
    "a &",
    "a & b",
    "a &> b",
    "(a)",
    "a && (b)",
    "for i in 1 2; do echo $i; done",
    "cat <<E\nx\nE",
    "$cmd x",
    "$DIR/run",
    '"${DIR:-/x}" y',
    "`which x`",
    'x "$(y',
    "x $(case y in z) ;; esac)",
    "cd /x",
    "exit 3",
    "a; exit",
    ". ./env",
    ". ./env && a",
    "eval a; b",
    "trap 'c' EXIT; a",
    "alias a=b; a",
    "a() { b; }; a",
    "set -x; a",
    "$setup && a",
    "if true; then a; fi",
    "if true; then a; fi; b",
    "! a",
    "{ a; }",
    "[[ a && b ]]",
    "a 'open",
    'a "open',
    "a \\",
    "a $'x'",
    "10>x a",
    "a >",
    "a && ",
    "&& a",
    "a ;; b",
    "A=1 B=$A c",
    "A=1 B=$(d) c",
    "A=1 b > $A",
    "exec x",
    "echo hi",
    "A=1 echo hi",
    "trap '' TERM",
    "time x",
    "-x",
    "%1",
    "x & # y",
    "",
    "A=1",
    ">x",
  ];
  for (const line of lines) assert.deepEqual(shellArgv(line), ["/bin/sh", "-c", line], line);
});
