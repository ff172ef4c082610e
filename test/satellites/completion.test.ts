/** Completion in bash, and in the other shells that are installed. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { skip } from "../support/skip.ts";

/** A missing shell skips its test; with CI=true scripts/test.mjs counts it as a failure. */
function isMissing(context: TestContext, name: string): boolean {
  const missing = !(process.env.PATH ?? "").split(delimiter).some((place) => existsSync(join(place, name)));
  if (missing) skip(context, `${name} is not installed`);
  return missing;
}

type Ran = { readonly code: number; readonly out: string };

/** A shell for which `procman` is a command. */
function shell(folder: string, argv: readonly string[]): Promise<Ran> {
  const bin = join(folder, "procman");
  writeFileSync(bin, `#!/bin/sh\nexec ${process.execPath} ${BIN} "$@"\n`);
  chmodSync(bin, 0o755);
  const [program = "", ...args] = argv;
  const env = cleanEnvironment({ PATH: `${folder}${delimiter}${process.env.PATH ?? ""}` });
  return new Promise((resolve) => {
    execFile(program, args, { cwd: folder, env }, (error, out) =>
      resolve({ code: error === null ? 0 : Number(error.code), out }),
    );
  });
}

/** The candidates of bash after these words. */
async function tab(folder: string, ...words: readonly string[]): Promise<readonly string[]> {
  const script = `eval "$(procman completion bash)"
COMP_WORDS=(procman "$@"); COMP_CWORD=$#
_procman
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { out } = await shell(folder, ["bash", "-uc", script, "bash", ...words]);
  return out.split("\n").filter((line) => line !== "");
}

test("bash completes commands, options, choices and the ids of running processes", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances: 2 } },
    { id: "mail", cmd: "sleep 1000", autostart: true },
  ]);
  assert.deepEqual(await tab(folder, "re"), ["restart", "reload", "releases", "remove"]);
  assert.deepEqual(await tab(folder, "stop", "m"), ["mail"], "from the file, as no procman runs");
  assert.deepEqual(await tab(folder, "run", "--once", "m"), ["mail"]);
  await procman(folder, ["run", "--detach"]);
  assert.deepEqual(await tab(folder, "restart", ""), ["web", "web-1", "web-2", "mail", "all"]);
  assert.deepEqual(await tab(folder, "restart", "mail", "web-"), ["web-1", "web-2"]);
  assert.deepEqual(await tab(folder, "scale", ""), ["web"], "only clusters");
  assert.deepEqual(await tab(folder, "scale", "web", ""), ["max", "auto"], "or a number");
  assert.deepEqual(await tab(folder, "scale", "web", "2", ""), []);
  assert.deepEqual(await tab(folder, "signal", "US"), ["USR1", "USR2"]);
  assert.deepEqual(await tab(folder, "signal", "HUP", "m"), ["mail"]);
  assert.deepEqual(await tab(folder, "stop", "--no"), ["--no-wait"]);
  assert.deepEqual(await tab(folder, "logs", "--severity", "w"), ["warn"]);
  assert.deepEqual(await tab(folder, "logs", "--config", ""), [], "bash completes files itself");
  assert.deepEqual(await tab(folder, "help", "un"), ["uninstall", "unblock"]);
  assert.deepEqual(await tab(folder, "completion", ""), ["bash", "zsh", "fish"]);
  assert.deepEqual(await tab(folder, "--v"), ["--version"]);
  assert.deepEqual(await tab(folder, "remove", ""), ["web", "mail"], "the ids of the file: no instances, no `all`");
  assert.deepEqual(await tab(folder, "run", "--exit-with", ""), ["web", "mail"]);
});

test("values after an equals sign and after commas are completed, too", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "true" }], { profiles: { dev: {}, prod: {} } });
  assert.deepEqual(await tab(folder, "run", "--profile", ""), ["dev", "prod"]);
  assert.deepEqual(await tab(folder, "token", "--scope", "read,co"), ["read,control"]);
  for (const command of ["init", "append"])
    assert.deepEqual(await tab(folder, command, "--restart", ""), ["always", "error", "never"]);
  assert.deepEqual(await tab(folder, "install", "--init", "r"), ["runit"]);
  assert.deepEqual(await tab(folder, "logs", "--category", "l"), ["lifecycle", "log"]);
  // As bash splits the words, and as zsh and fish do.
  assert.deepEqual(await tab(folder, "logs", "--severity", "=", "w"), ["warn"]);
  assert.deepEqual(await tab(folder, "logs", "--severity", "="), ["debug", "info", "warn", "error"]);
  assert.deepEqual(await tab(folder, "logs", "--severity=w"), ["--severity=warn"]);
  assert.deepEqual(await tab(folder, "stop", "--config=procman.json", "w"), ["web"]);
});

test("groups are completed, also as bash splits them at the colon", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "sleep 1000", autostart: true, groups: ["backend", "public"] },
    { id: "mail", cmd: "sleep 1000", autostart: true, groups: "backend" },
  ]);
  for (const isRunning of [false, true]) {
    if (isRunning) await procman(folder, ["run", "--detach"]);
    assert.deepEqual(await tab(folder, "stop", ""), ["web", "mail", "group:backend", "group:public", "all"]);
    assert.deepEqual(await tab(folder, "logs", "group:b"), ["group:backend"], "zsh and fish");
    assert.deepEqual(await tab(folder, "logs", "web", "group", ":"), ["backend", "public"]);
    assert.deepEqual(await tab(folder, "signal", "HUP", "group", ":", "p"), ["public"]);
  }
  assert.deepEqual(await tab(folder, "run", "group", ":", "b"), ["backend"]);
  assert.deepEqual(await tab(folder, "token", "--group", ""), ["backend", "public"]);
  assert.deepEqual(await tab(folder, "token", "--process", "m"), ["mail"]);
  assert.deepEqual(await tab(folder, "remove", "g"), []);
});

test("entries of the history are completed, newest first, also without a running procman", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  assert.deepEqual(await tab(folder, "rollback", ""), ["active", "previous"]);
  await procman(folder, ["run", "--detach"]);
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [] }));
  await procman(folder, ["reload"]);
  const all = ["active", "previous", "2", "1"];
  for (const isRunning of [true, false]) {
    if (!isRunning) await procman(folder, ["terminate"]);
    assert.deepEqual(await tab(folder, "rollback", ""), all);
    assert.deepEqual(await tab(folder, "diff", "1", ""), all);
    assert.deepEqual(await tab(folder, "history", ""), ["list", "show"]);
    assert.deepEqual(await tab(folder, "history", "show", ""), all);
    assert.deepEqual(await tab(folder, "rollback", "1", ""), []);
  }
});

test("without any candidate the completion is empty and prints no message", async (context) => {
  const { folder } = homeOf(context, []);
  writeFileSync(join(folder, "procman.json"), "{ no JSON");
  for (const words of [
    ["stop", ""],
    ["stop", "-c", "none.json", "w"],
    ["nonsense", ""],
  ])
    assert.deepEqual(await procman(folder, ["__complete", ...words]), { code: 0, out: "", err: "" });
});

/** The candidates of fish for this line. */
async function fish(folder: string, line: string): Promise<readonly string[]> {
  const { out } = await shell(folder, [
    "fish",
    "--no-config",
    "-c",
    `procman completion fish | source; complete -C '${line}'`,
  ]);
  return out.split("\n").filter((each) => each !== "");
}

test("fish completes the same, each candidate with its description", async (context) => {
  if (isMissing(context, "fish")) return;
  const { folder } = homeOf(context, [{ id: "mail", cmd: "sleep 1000" }]);
  assert.deepEqual(
    (await fish(folder, "procman re")).map((line) => line.split("\t")[0]),
    ["releases", "reload", "remove", "restart"],
  );
  assert.match((await fish(folder, "procman resta")).join(), /^restart\t\w/);
  assert.deepEqual(await fish(folder, "procman stop m"), ["mail"]);
  assert.deepEqual(await fish(folder, "procman logs --severity w"), ["warn"]);
  assert.ok((await fish(folder, "procman logs --config proc")).includes("procman.json"), "a file");
});

/** The line of a zsh in a terminal after Tab. A key that the test binds prints it. */
async function zsh(folder: string, line: string): Promise<string> {
  writeFileSync(
    join(folder, ".zshrc"),
    `autoload -Uz compinit; compinit -u -D
eval "$(procman completion zsh)"
report() { print -r -- "$BUFFER" > told; exit; }
zle -N report; bindkey '^I' complete-word; bindkey '^X' report; PS1='ready> '`,
  );
  const script = `zmodload zsh/zpty; zpty it "ZDOTDIR=$PWD exec zsh -i"
zpty -r -m it seen '*ready> *'; zpty -w -n it "$1"$'\t\x18'; while zpty -r it seen; do :; done; cat told`;
  return (await shell(folder, ["zsh", "-f", "-c", script, "zsh", line])).out.trim();
}

test("zsh completes the same in a terminal", async (context) => {
  if (isMissing(context, "zsh")) return;
  const { folder } = homeOf(context, [{ id: "mail", cmd: "sleep 1000" }]);
  for (const [line, completed] of [
    ["procman resta", "procman restart"],
    ["procman stop m", "procman stop mail"],
    ["procman logs --severity w", "procman logs --severity warn"],
    ["procman logs --config proc", "procman logs --config procman"],
  ] as const)
    assert.ok((await zsh(folder, line)).startsWith(completed), line);
});

test("an unknown shell is refused, and the message names the known ones", async (context) => {
  const { folder } = homeOf(context, []);
  const { code, err } = await procman(folder, ["completion", "tcsh"]);
  assert.equal(code, 64);
  assert.match(err, /bash, zsh, fish/);
});
