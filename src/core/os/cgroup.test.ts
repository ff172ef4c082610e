/** cgroup v2: which files are written, which errors are reported; moving and killing use real cgroups of this machine. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  capCpu,
  capMemory,
  cgroupMembers,
  currentCgroup,
  divide,
  isGiven,
  killCgroup,
  moveAll,
  ownCgroup,
  removeCgroup,
  renewCgroup,
} from "./cgroup.ts";
import { hadOomKill } from "./oom.ts";

/** A folder with the files of a cgroup. */
function fake(context: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-cgroup-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return filled(folder, files);
}

function filled(folder: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function text(folder: string, file: string): string {
  return readFileSync(join(folder, file), "utf8");
}

test("the root cgroup of a machine delegates its memory controller without moving its members", (context) => {
  const root = fake(context, {
    "cgroup.controllers": "cpu memory pids\n",
    "cgroup.procs": "1\n2\n",
    "cgroup.subtree_control": "",
  });
  const folder = filled(join(root, "procman-1"), { "cgroup.subtree_control": "" });
  divide(root, folder, "memory");
  assert.deepEqual(
    [text(root, "cgroup.subtree_control"), text(folder, "cgroup.subtree_control")],
    ["+memory", "+memory"],
  );
  assert.equal(text(root, "cgroup.procs"), "1\n2\n");
  assert.ok(!existsSync(join(root, "procman")));
});

test("a cgroup without a memory controller, or that can't be divided, is an error", (context) => {
  const without = fake(context, { "cgroup.controllers": "cpu pids\n" });
  assert.throws(
    () => divide(without, join(without, "procman-1"), "memory"),
    /^Error: the cgroup .* has no memory controller to delegate$/,
  );
  assert.ok(!existsSync(join(without, "procman-1")), "nothing was made or moved");
  const strange = fake(context, { "cgroup.controllers": "memory\n" });
  assert.throws(
    () => divide(strange, join(strange, "procman-1"), "memory"),
    /"\+memory" can't be written to .*\/cgroup\.subtree_control \(ENOENT\)/,
  );
});

test("a memory limit kills all members at once, disables swap, and creates no files that the kernel doesn't have", (context) => {
  const files = { "memory.oom.group": "0\n", "memory.max": "max\n" };
  const plain = fake(context, files);
  capMemory(plain, 100_000_000);
  assert.deepEqual([text(plain, "memory.oom.group"), text(plain, "memory.max")], ["1\n", "100000000"]);
  assert.ok(!existsSync(join(plain, "memory.swap.max")));
  const swapping = fake(context, { ...files, "memory.swap.max": "max\n" });
  capMemory(swapping, 1);
  assert.equal(text(swapping, "memory.swap.max")[0], "0");
  const none = fake(context);
  assert.throws(() => capMemory(none, 1), /ENOENT/);
  assert.ok(!existsSync(join(none, "memory.oom.group")));
});

test("a CPU limit is a part of each tenth of a second, never less than the kernel takes", (context) => {
  const folder = fake(context, { "cpu.max": "" });
  const limited = (percent: number): string => {
    writeFileSync(join(folder, "cpu.max"), "");
    capCpu(folder, percent);
    return text(folder, "cpu.max");
  };
  assert.deepEqual([50, 250, 33.33, 0.1].map(limited), [
    "50000 100000",
    "250000 100000",
    "33330 100000",
    "1000 100000",
  ]);
});

test("the CPU controller is delegated beside that of memory", (context) => {
  const root = fake(context, { "cgroup.controllers": "cpuset cpu memory\n", "cgroup.subtree_control": "" });
  const folder = filled(join(root, "procman-1"), { "cgroup.subtree_control": "" });
  divide(root, folder, "cpu");
  assert.deepEqual([text(root, "cgroup.subtree_control"), text(folder, "cgroup.subtree_control")], ["+cpu", "+cpu"]);
  const without = fake(context, { "cgroup.controllers": "cpuset memory\n" });
  assert.throws(() => divide(without, folder, "cpu"), /has no cpu controller to delegate$/);
});

test("a reused cgroup has no limit", (context) => {
  const folder = fake(context, { "cgroup.procs": "4711\n", "memory.max": "100\n", "cpu.max": "max" });
  renewCgroup(folder);
  assert.equal(text(folder, "memory.max"), "max\n");
});

test("out-of-memory kills are counted per cgroup", (context) => {
  assert.ok(
    hadOomKill(fake(context, { "memory.events": "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 1\n" })),
  );
  assert.ok(
    !hadOomKill(fake(context, { "memory.events": "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n" })),
  );
  assert.ok(!hadOomKill(fake(context)));
});

test("in a cgroup named procman, its parent is the one that is divided", (context) => {
  const folder = fake(context, { "cgroup.procs": "" });
  assert.equal(ownCgroup(folder), folder);
  assert.equal(ownCgroup(filled(join(folder, "procman"), { "cgroup.procs": "" })), folder);
  assert.equal(ownCgroup(join(folder, "gone")), undefined);
  assert.ok(isGiven(join(folder, "procman")));
});

const own = ownCgroup();

test("members of a real cgroup are moved to a subgroup, killed there, and the subgroup is removed", {
  skip: own === undefined && "no cgroup v2 that may be divided",
}, async () => {
  const root = join(own ?? "", `procman-test-${process.pid}`);
  const home = join(root, "procman");
  mkdirSync(root);
  const children = [1, 2, 3].map(() => spawn("sleep", ["1000"], { stdio: "ignore" }));
  const pids = children.map(({ pid = -1 }) => pid);
  const ends = children.map((child) => once(child, "exit"));
  try {
    for (const pid of pids) writeFileSync(join(root, "cgroup.procs"), String(pid));
    assert.deepEqual(new Set(cgroupMembers(root)), new Set(pids));
    moveAll(root, home);
    assert.deepEqual([cgroupMembers(root), new Set(cgroupMembers(home))], [[], new Set(pids)]);
    assert.equal(basename(currentCgroup() ?? ""), basename(own ?? ""), "no other process was moved");
  } finally {
    killCgroup(home);
    // Where the kernel doesn't allow that.
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(ends);
    removeCgroup(home);
    rmdirSync(root);
  }
});
