/** Procman in a separate PID namespace, as in a container: under an init, and as PID 1. docs/guide/containers.md. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { allProcesses, type ProcessStat } from "../../src/core/os/process-stat.ts";
import { eventually, folderWith, type ProcessConfig, Procman, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { skip } from "../support/skip.ts";

const PROGRAMS = fileURLToPath(new URL("../programs/", import.meta.url));
const ORPHANS = 20;
const UNSHARE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
const TINI = [...UNSHARE, "tini", "--"];
const loud = { autostart: true, logger: { console: true } };

/** Skips a test where no namespace can be created; fails with CI=true. */
function isNamespaceMissing(context: TestContext): boolean {
  try {
    execFileSync(UNSHARE[0] ?? "", [...UNSHARE.slice(1), "tini", "--", "true"], { stdio: "pipe" });
    return false;
  } catch (error) {
    if (process.env.CI === "true") throw error;
    skip(context, `no PID namespace with tini can be made here: ${(error as Error).message}`);
    return true;
  }
}

type Container = {
  readonly procman: Procman;
  /** Pid of its PID 1 outside of the namespace. */
  readonly init: number;
  /** All others in it, zombies included. */
  readonly others: () => readonly ProcessStat[];
};

async function container(
  context: TestContext,
  launcher: readonly string[],
  { processes, env = {} }: { readonly processes: readonly ProcessConfig[]; readonly env?: NodeJS.ProcessEnv },
): Promise<Container> {
  const folder = folderWith(context, { name: "box", processes });
  const procman = new Procman(folder, { launcher, env });
  const init = await eventually(() => allProcesses().find(({ parent }) => parent === procman.pid)?.pid);
  assert.ok(init > 1);
  context.after(() => {
    if (procman.child.exitCode === null && procman.child.signalCode === null) process.kill(init, "SIGKILL");
  });
  // Orphans in a PID namespace become children of its PID 1.
  return { procman, init, others: () => descendants(init, allProcesses()) };
}

function descendants(pid: number, all: readonly ProcessStat[]): readonly ProcessStat[] {
  const children = all.filter(({ parent }) => parent === pid);
  return [...children, ...children.flatMap((child) => descendants(child.pid, all))];
}

const zombies = ({ others }: Container): number => others().filter(({ state }) => state === "Z").length;

/** Resolves once every orphan has ended. */
async function orphansEnd({ procman: { folder } }: Container): Promise<void> {
  const file = join(folder, "orphans.ended");
  await eventually(() =>
    existsSync(file) && readFileSync(file, "utf8").trim().split("\n").length === ORPHANS ? true : undefined,
  );
}

const processes = [
  { id: "orphans", cmd: `exec sh "${PROGRAMS}leave-orphans.sh"`, ...loud },
  { id: "family", cmd: "echo here we are; sleep 1000 & sleep 1000 & wait", ...loud },
];

test("under tini orphans are reaped, SIGTERM is forwarded, and procman ends in order with exit code 0 and leaves nothing", async (context) => {
  if (isNamespaceMissing(context)) return;
  const box = await container(context, TINI, { processes });
  await box.procman.line(/^family .*here we are/);
  await orphansEnd(box);
  await eventually(() => (zombies(box) === 0 ? true : undefined));
  const pids = box.others().map(({ pid }) => pid);
  assert.ok(pids.length >= 6, "keeper, service, logger and the processes");
  process.kill(box.init, "SIGTERM");
  assert.deepEqual(await box.procman.exit(), { code: 0, signal: null });
  await box.procman.line(/everything is stopped/);
  assert.ok(!box.procman.lines.some((line) => line.includes("PID 1")), "no warning");
  for (const pid of pids) await processExit(pid);
  const state = join(box.procman.folder, ".procman/box");
  const files = readdirSync(state, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  assert.deepEqual(
    files
      .filter(
        ({ name, parentPath }) =>
          name !== "secret" && !["logs", "incidents", "metrics", "history", "texts"].includes(basename(parentPath)),
      )
      .map(({ name }) => name),
    [],
  );
});

for (const signal of ["SIGTERM", "SIGINT"] as const)
  test(`as PID 1 procman warns, orphans stay zombies, and ${signal} ends everything gracefully with exit code 0`, async (context) => {
    if (isNamespaceMissing(context)) return;
    const box = await container(context, UNSHARE, { processes });
    await box.procman.line(
      /^procman: is PID 1 here: orphans .* stay zombies; put an init in front of it, such as "docker run --init" or tini$/,
    );
    await box.procman.line(/^family .*here we are/);
    await orphansEnd(box);
    await eventually(() => (zombies(box) === ORPHANS ? true : undefined));
    process.kill(box.init, signal);
    assert.deepEqual(await box.procman.exit(), { code: 0, signal: null });
    await box.procman.line(/everything is stopped/);
  });

test("with a read-only root and the state folder elsewhere procman runs, and commands find it", async (context) => {
  if (isNamespaceMissing(context)) return;
  const state = mkdtempSync(join(tmpdir(), "procman-state-"));
  context.after(() => rmSync(state, { recursive: true, force: true }));
  // The mounts exist only in the container.
  const script = 'mount --bind . . && mount -o remount,bind,ro . && cd "$PWD" && exec "$@"';
  const box = await container(context, [...UNSHARE, "sh", "-c", script, "sh", "tini", "--"], {
    processes: [
      { id: "probe", cmd: "touch here || echo it is read-only", ...loud },
      { id: "status", cmd: `until "${process.execPath}" "${BIN}" status; do sleep 0.1; done`, ...loud },
    ],
    env: { PROCMAN_STATE_DIR: state },
  });
  await box.procman.line(/^probe .*it is read-only/);
  await box.procman.line(/^status .* probe +finished/);
  assert.deepEqual(readdirSync(box.procman.folder), ["procman.json"]);
  process.kill(box.init, "SIGTERM");
  assert.deepEqual(await box.procman.exit(), { code: 0, signal: null });
});
