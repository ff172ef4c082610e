import assert from "node:assert/strict";
import { test } from "node:test";
import { readEnvFile } from "./env-file.ts";

const variablesIn = (text: string) => readEnvFile(text).variables;
const faultsIn = (text: string) => readEnvFile(text).faults.map(({ line, problem }) => `${line} ${problem}`);

test("2.2 envFile: names, values, quotes and comments are parsed", () => {
  const cases: readonly (readonly [text: string, variables: Readonly<Record<string, string>>])[] = [
    ["", {}],
    ["A=1\nB=2", { A: "1", B: "2" }],
    ["A=1\r\nB=2\r\n", { A: "1", B: "2" }],
    ["\uFEFFA=1", { A: "1" }],
    ["export A=1\n  export\tB=2\n\texportC=3\nexport=4", { A: "1", B: "2", exportC: "3", export: "4" }],
    ["A = 1 \t\nB=  \nC=", { A: "1", B: "", C: "" }],
    ["my.name-2=x", { "my.name-2": "x" }],
    ["# a=1\n  # it's\n\t#\n \t\n\nA=1", { A: "1" }],
    ["A=1 # one\nB=x\t# y\nC= # none\nD=x # y # z", { A: "1", B: "x", C: "", D: "x" }],
    // Only a blank begins a comment: secrets and colors have this character, too.
    ["HASH=p#ss\nCOLOR=#ff0000\nC=# d\nE=a# b\nF=#", { HASH: "p#ss", COLOR: "#ff0000", C: "# d", E: "a# b", F: "#" }],
    ['A=b=c\nB==\nC=it\'s "so"', { A: "b=c", B: "=", C: 'it\'s "so"' }],
    ["A='x # y' # z\nB=\"x # 'y'\"\nC=`it's \"so\"`", { A: "x # y", B: "x # 'y'", C: 'it\'s "so"' }],
    ["A=' x '\nB=''\nC=\"\"", { A: " x ", B: "", C: "" }],
    ["A=\"one\\ntwo\"\nB='one\\ntwo'\nC=one\\ntwo", { A: "one\ntwo", B: "one\\ntwo", C: "one\\ntwo" }],
    ['A="one\n# two\n\nB=three"\nC=4', { A: "one\n# two\n\nB=three", C: "4" }],
    ["A=1\nA=2", { A: "2" }],
  ];
  for (const [text, variables] of cases)
    assert.deepEqual(readEnvFile(text), { variables, faults: [] }, JSON.stringify(text));
});

test("2.2 envFile: a malformed line is reported by its number without its text, and affects no other line", () => {
  const secret = "A=1\ns3cret\nB: s3cret\nset C=s3cret\n=s3cret\nexport D\nE=2";
  assert.deepEqual(variablesIn(secret), { A: "1", E: "2" });
  assert.deepEqual(
    faultsIn(secret),
    [2, 3, 4, 5, 6].map(
      (line) => `${line} is not NAME=value and is ignored; write it like that, or put # in front of it`,
    ),
  );
});

test("2.2 envFile: an unclosed quote is reported and is part of the value", () => {
  const text = 'A=1\nB=\'two # three\nC="4"';
  assert.deepEqual(variablesIn(text), { A: "1", B: "'two # three", C: "4" });
  assert.deepEqual(faultsIn(text), [
    "2 opens a quote that is never closed, so the quote is part of the value; close it, or use other quotes",
  ]);
});

test("2.2 envFile: text after a closing quote is reported, also if an unclosed quote ends at the next one", () => {
  const problem = "has text after the closing quote of its value, which is ignored; use other quotes, or remove it";
  const apostrophe = "A=1\nB='don't'\nC=3";
  assert.deepEqual(variablesIn(apostrophe), { A: "1", B: "don", C: "3" });
  assert.deepEqual(faultsIn(apostrophe), [`2 ${problem}`]);
  const unclosed = 'A="one\nB="two"\nC=3\nD';
  assert.deepEqual(variablesIn(unclosed), { A: "one\nB=", C: "3" });
  assert.match(faultsIn(unclosed).join(), /^1 has text after .*,4 is not NAME=value/);
});

test("carriage returns can be written, odd separators belong to the value, and any name is a name", () => {
  assert.deepEqual(variablesIn("A=\"a\\r\\nb\"\nB='\\r'\n"), { A: "a\r\nb", B: "\\r" });
  assert.deepEqual(variablesIn("A=a\u2028b\n# c\u2029d\nB='e\u2028f' # g\u2028h\n"), { A: "a\u2028b", B: "e\u2028f" });
  assert.deepEqual(Object.entries(variablesIn("__proto__=x\nconstructor=y\n")), [
    ["__proto__", "x"],
    ["constructor", "y"],
  ]);
});
