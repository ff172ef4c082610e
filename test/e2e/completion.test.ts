/** Completion in a real bash, and the other shells' scripts as far as the shells are installed. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { BIN, homeOf, procman } from "../cli.ts";
import { cleanEnvironment } from "../procman.ts";

type Ran = { readonly code: number; readonly out: string };

/** A shell for which `procman` is a command. */
function shell(folder: string, argv: readonly string[]): Promise<Ran> {
  const bin = join(folder, "procman");
  writeFileSync(bin, `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`);
  chmodSync(bin, 0o755);
  const [program = "", ...args] = argv;
  const env = cleanEnvironment({ PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` });
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, env }, (error, out) => resolve({ code: error === null ? 0 : Number(error.code), out }));
  });
}

/** What Tab offers in bash after these words. */
async function tab(folder: string, ...words: readonly string[]): Promise<readonly string[]> {
  const script = `eval "$(procman completion bash)"
COMP_WORDS=(procman "$@"); COMP_CWORD=$#
_procman
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { out } = await shell(folder, ["bash", "-uc", script, "bash", ...words]);
  return out.split("\n").filter((line) => line !== "");
}

test("bash completes commands, options, choices and the ids of what runs", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances: 2 } },
    { id: "mail", cmd: "sleep 1000", autostart: true },
  ]);
  assert.deepEqual(await tab(folder, "re"), ["restart", "remove"]);
  assert.deepEqual(await tab(folder, "stop", "m"), ["mail"], "from the file, as none runs");
  await procman(folder, ["run", "--detach"]);
  assert.deepEqual(await tab(folder, "restart", ""), ["web", "web-1", "web-2", "mail", "all"]);
  assert.deepEqual(await tab(folder, "restart", "mail", "web-"), ["web-1", "web-2"]);
  assert.deepEqual(await tab(folder, "stop", "--no"), ["--no-wait"]);
  assert.deepEqual(await tab(folder, "logs", "--severity", "w"), ["warn"]);
  assert.deepEqual(await tab(folder, "logs", "--config", ""), [], "a file, which bash completes itself");
  assert.deepEqual(await tab(folder, "help", "un"), ["unblock"]);
  assert.deepEqual(await tab(folder, "completion", ""), ["bash", "zsh", "fish"]);
});

test("what can't be known is nothing, and no message comes in between", async (context) => {
  const { folder } = homeOf(context, []);
  writeFileSync(join(folder, "procman.json"), "{ no JSON");
  for (const words of [
    ["stop", ""],
    ["stop", "-c", "none.json", "w"],
    ["nonsense", ""],
  ])
    assert.deepEqual(await procman(folder, ["__complete", ...words]), { code: 0, out: "", err: "" });
});

for (const [name, flag] of [
  ["bash", "-n"],
  ["zsh", "-n"],
  ["fish", "--no-execute"],
] as const)
  test(`the script for ${name} is one`, async (context) => {
    const { folder } = homeOf(context, []);
    const { out, code } = await procman(folder, ["completion", name]);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`procman completion for ${name}`));
    if ((await shell(folder, ["sh", "-c", `command -v ${name}`])).code !== 0) return context.skip(`${name} is not installed`);
    const file = join(folder, "script");
    writeFileSync(file, out);
    assert.equal((await shell(folder, [name, flag, file])).code, 0);
  });

test("another shell is refused with those that are known", async (context) => {
  const { folder } = homeOf(context, []);
  const { code, err } = await procman(folder, ["completion", "tcsh"]);
  assert.equal(code, 64);
  assert.match(err, /bash, zsh, fish/);
});
