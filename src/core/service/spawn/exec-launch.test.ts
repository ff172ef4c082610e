/** How a command with the surroundings of a process is started. */
import assert from "node:assert/strict";
import { getPriority } from "node:os";
import { test } from "node:test";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import { launchOf } from "./exec-launch.ts";

const config = { stateDir: "/state", processes: [], plugins: [] } as unknown as Config;
const web = {
  id: "web-1",
  cwd: "/",
  env: {},
  path: [],
  cluster: { id: "web", index: 0, port: 3_001 },
  policy: { terminateMs: 2_000 },
} as unknown as ProcessSpec;

const launch = (spec: Partial<ProcessSpec>, niceness?: number) =>
  launchOf(
    { ...web, ...spec },
    { config, command: ["tool", "x"], marker: "m", access: undefined, ...(niceness === undefined ? {} : { niceness }) },
  );

test("a command has number and environment of an instance, values with its port included, but no port and no marker of a run", () => {
  const { env, argv, cwd } = launch({ env: { URL: "http://h:${PROCMAN_CLUSTER_PORT}" } });
  const { URL, PORT, PROCMAN_CLUSTER_PORT, PROCMAN_CLUSTER_INSTANCE, PROCMAN_RUN_ID, PROCMAN_EXEC_ID, PWD } = env;
  assert.deepEqual(
    [argv, cwd, PWD, URL, PROCMAN_CLUSTER_INSTANCE, PROCMAN_EXEC_ID],
    [["tool", "x"], "/", "/", "http://h:3001", "0", "m"],
  );
  assert.deepEqual([PORT, PROCMAN_CLUSTER_PORT, PROCMAN_RUN_ID], [process.env.PORT, undefined, undefined]);
});

test("nice is relative to the process that starts the command", () => {
  const own = getPriority();
  assert.match(launch({ nice: 5 }).argv.join(" "), new RegExp(`exec nice -n ${5 - own} `));
  assert.match(launch({ nice: 5 }, 3).argv.join(" "), /exec nice -n 2 /);
});

test("user and group are those of the process, else procman's own", () => {
  const user = { name: "deploy", uid: 1_234, gid: 2_345, home: "/home/deploy" };
  const { uid, gid, env } = launch({ user });
  assert.deepEqual([uid, gid, env.USER, env.HOME], [1_234, 2_345, "deploy", "/home/deploy"]);
  assert.deepEqual([launch({}).uid, launch({}).gid], [process.geteuid?.(), process.getegid?.()]);
});

test("who starts it learns how long the process has to end", () => {
  assert.equal(launch({}).terminateMs, 2_000);
});

test("a missing folder, secret or variable is an error that names it", () => {
  for (const [spec, message] of [
    [{ cwd: "/nowhere" }, /Cannot execute a command in "web-1": its working directory \/nowhere does not exist/],
    [{ env: { KEY: { file: "/nowhere/key" } } }, /the file \/nowhere\/key of its variable KEY does not exist/],
    [{ env: { A: "${NO_SUCH_VARIABLE_HERE}" } }, /its variable A needs NO_SUCH_VARIABLE_HERE/],
  ] as const)
    assert.throws(
      () => launch(spec),
      (error: { readonly code: string; readonly message: string }) =>
        error.code === "exec-failed" && message.test(error.message),
    );
});
