/** `--json` and errors: what a program that calls procman gets when a command is refused. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ERRORS, type ErrorCode } from "../../src/core/base/errors.ts";
import { homeOf, keeperIn, type Outcome, procman, SLEEPER } from "../support/cli.ts";

type CommandError = {
  readonly code: ErrorCode;
  readonly message: string;
  readonly problems?: readonly { readonly place: string; readonly message: string }[];
  readonly processes?: readonly string[];
};

/** The errors of a command: standard error has nothing else. */
function errorsIn({ err }: Outcome): readonly CommandError[] {
  const lines = err.trimEnd().split("\n");
  return lines.map((line) => (JSON.parse(line) as { readonly error: CommandError }).error);
}

/** Runs the command, and checks that it ends with one error of this code. */
async function refused(folder: string, command: string, code: ErrorCode): Promise<CommandError> {
  const outcome = await procman(folder, [...command.split(" "), "--json"]);
  const [error, ...others] = errorsIn(outcome);
  assert.deepEqual([error?.code, others.length], [code, 0], `${command}: ${outcome.err}`);
  assert.equal(outcome.code, ERRORS[code].exit, command);
  return error ?? assert.fail();
}

test("with --json a command that is refused prints one error with its code on standard error, and ends with its exit code", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "job", cmd: "exit 3" },
  ]);
  for (const command of ["status", "reload", "stop web", "logs nosuch", "terminate"])
    await refused(folder, command, command.startsWith("logs") ? "process-unknown" : "no-daemon");
  await refused(folder, "frobnicate", "usage");
  await refused(folder, "status --nosuch", "usage");
  await refused(folder, "remove nosuch", "process-unknown");
  await refused(folder, "init --id web --cmd true", "file-exists");
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  for (const command of ["status", "show", "why", "next", "start", "stop", "block", "signal HUP", "reload"]) {
    const { message } = await refused(folder, `${command} wbe`, "process-unknown");
    assert.match(message, /Did you mean "web"\?/, command);
  }
  await refused(folder, "flush --yes wbe", "process-unknown");
  await refused(folder, "reload web", "reload-unsupported");
  await refused(folder, "scale web 2", "scale-refused");
  const { processes } = await refused(folder, "start job", "process-failed");
  assert.deepEqual(processes, ["job"]);
  await procman(folder, ["block", "job"]);
  await refused(folder, "start job", "process-blocked");
});

test("with --json a refusal of one process is an error beside the records of the others", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const outcome = await procman(folder, ["restart", "web", "wbe", "--json"]);
  assert.deepEqual(
    (JSON.parse(outcome.out) as readonly { readonly id: string }[]).map(({ id }) => id),
    ["web"],
  );
  assert.deepEqual([errorsIn(outcome).map(({ code }) => code), outcome.code], [["process-unknown"], 1]);
});

test("with --json an invalid file is an error with all its problems and their places", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  writeFileSync(join(folder, "procman.json"), '{ "processes": [{ "id": "web", "cmdd": "x" }] }');
  for (const command of ["plan", "reload", "validate"]) {
    const { problems = [] } = await refused(folder, command, "configuration-invalid");
    assert.ok(problems.length > 0 && problems.every(({ place }) => place.includes("processes[0]")), command);
  }
});

test("what follows -- belongs to the program, also --json", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const { err } = await procman(folder, ["add", "--id", "web", "--", "echo", "--json"]);
  assert.match(err, /^procman: Cannot add "web"/);
});

test("version --json has the versions of procman and Node", async (context) => {
  const { folder } = homeOf(context, []);
  const plain = await procman(folder, ["version"]);
  const { out, code } = await procman(folder, ["version", "--json"]);
  assert.deepEqual(JSON.parse(out), { version: plain.out.trim(), node: process.versions.node });
  assert.equal(code, 0);
});

test("run --detach --json prints one document: what was started, what has failed and why; exit codes are as without --json", async (context) => {
  const { folder, state } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "broken", cmd: "echo no database; exit 3", autostart: true, restartLimit: 0 },
    { id: "job", cmd: "true" },
  ]);
  const outcome = await procman(folder, ["run", "--detach", "--json"]);
  const { pid, warnings, processes, ...done } = JSON.parse(outcome.out);
  assert.deepEqual(done, { started: true, changed: true, failed: ["broken"], late: [] });
  assert.equal(pid, keeperIn(state));
  assert.match(warnings.join(), /^procman\.json:\d+:\d+: .*No start policy/);
  assert.deepEqual(
    processes.map(({ id }: { id: string }) => id),
    ["web", "broken", "job"],
  );
  assert.equal(processes[0].status, "running");
  assert.match(processes[1].reason, /^exited with code 3/);
  assert.deepEqual(
    errorsIn(outcome).map(({ code, processes: ids }) => [code, ids]),
    [["process-failed", ["broken"]]],
  );
  assert.equal(outcome.code, 1);
  await refused(folder, "run --detach", "already-running");
});

test("run --detach --json and up --json of a procman that ends during its start print its message as an error", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  // A file in the place of a folder.
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, "run"), "");
  for (const command of ["run --detach", "up"]) {
    const { message } = await refused(folder, command, "start-failed");
    assert.match(message, /^Cannot run: the state folder .* can't be used/, command);
  }
});

test("run --json without --detach is a usage error, because the console has the output of processes", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  assert.match((await refused(folder, "run", "usage")).message, /needs --detach/);
});
