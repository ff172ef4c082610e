import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { load } from "./load.ts";

const VALID = '{ "processes": [{ "id": "a", "cmd": "x", "autostart": true }] }';

function folder(t: TestContext, files: Readonly<Record<string, string | Uint8Array>>): string {
  const path = mkdtempSync(join(tmpdir(), "procman-load-"));
  t.after(() => rmSync(path, { recursive: true }));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(path, name), content);
  return path;
}

test("procman.jsonc comes before procman.json, both in the current folder", (t) => {
  const cwd = folder(t, { "procman.json": VALID });
  assert.equal(load(undefined, cwd).file, join(cwd, "procman.json"));
  writeFileSync(join(cwd, "procman.jsonc"), `// comment\n${VALID}`);
  assert.equal(load(undefined, cwd).file, join(cwd, "procman.jsonc"));
});

test("a file given by its path, relative to the current folder", (t) => {
  const cwd = folder(t, { "other.json": VALID });
  assert.equal(load("other.json", cwd).file, join(cwd, "other.json"));
  assert.equal(load(join(cwd, "other.json"), "/").processes[0]?.cwd, cwd);
});

test("no file: the message says how to create one", (t) => {
  const cwd = folder(t, {});
  assert.throws(() => load(undefined, cwd), {
    code: "configuration-missing",
    exitCode: 78,
    message: /procman\.jsonc nor procman\.json in .*`procman init` makes one/,
  });
  assert.throws(() => load("x.json", cwd), {
    code: "configuration-missing",
    message: "Cannot read x.json: no such file. `procman init --config x.json` makes one.",
  });
});

test("a folder without a configuration, or a loop of symbolic links, is reported as such", (t) => {
  const cwd = folder(t, {});
  mkdirSync(join(cwd, "dir"));
  symlinkSync("loop", join(cwd, "loop"));
  assert.throws(() => load("dir", cwd), {
    code: "configuration-missing",
    message: "Cannot read dir: the folder has neither procman.jsonc nor procman.json; name another file.",
  });
  assert.throws(() => load("loop", cwd), { code: "configuration-missing", message: /form a loop/ });
});

test("an empty file, and bytes that are not UTF-8, are reported as such", (t) => {
  const cwd = folder(t, {
    "empty.json": "",
    "latin1.json": Uint8Array.from([0x7b, 0xe4, 0x7d]),
    "utf16.json": Buffer.from(`\uFEFF${VALID}`, "utf16le"),
  });
  assert.throws(() => load("empty.json", cwd), {
    code: "configuration-invalid",
    message: /empty\.json:1:1[\s\S]*the file is empty/,
  });
  for (const name of ["latin1.json", "utf16.json"])
    assert.throws(() => load(name, cwd), { code: "configuration-invalid", message: /not UTF-8/ });
});

test("a byte order mark is accepted, and is not part of the columns", (t) => {
  const cwd = folder(t, { "bom.json": `\uFEFF${VALID}`, "bad.json": '\uFEFF{ "processes": 5 }' });
  assert.equal(load("bom.json", cwd).processes.length, 1);
  assert.throws(() => load("bad.json", cwd), { message: /bad\.json:1:16 processes/ });
});

test("files below the current folder are shown relative to it, others in full", (t) => {
  const cwd = folder(t, { "bad.json": "{}" });
  assert.throws(() => load("bad.json", cwd), { message: /^Cannot use bad\.json: 1 problem/ });
  assert.throws(() => load(join(cwd, "bad.json"), join(cwd, "..", "elsewhere")), {
    message: new RegExp(`^Cannot use ${join(cwd, "bad.json")}: `),
  });
});
