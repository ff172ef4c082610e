/** Processes of a run, and their CPU and memory. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { type OtherUser, otherUser } from "../../../test/support/other-user.ts";
import { RunMarkers } from "../base/run-marker.ts";
import { OomKills, oomKills } from "./oom.ts";
import { markedProcesses, ownersOf, ProcessMarkers } from "./process-tree.ts";
import { ownMemory, type ProcessUsage, parsePs, parseStat, processUsages } from "./process-usage.ts";

const KEY = "00112233445566778899aabbccddeeff";

const usage = (pid: number, parent: number, { group = pid, session = pid } = {}): ProcessUsage => ({
  pid,
  parent,
  group,
  session,
  startTime: String(pid),
  cpuSeconds: 0,
  reapedSeconds: 0,
});

test("a run consists of its session, group, descendants, and processes with its marker", () => {
  const all = [
    usage(1, 0),
    usage(10, 1),
    usage(11, 10, { group: 10, session: 10 }),
    usage(12, 11),
    usage(13, 12),
    usage(14, 1, { session: 10 }),
    usage(15, 1),
    usage(16, 15),
    usage(20, 1),
    usage(30, 1),
  ];
  const owners = ownersOf(all, new Map([[10, "web"]]), ({ pid }) => (pid === 15 ? "web" : undefined));
  assert.deepEqual(
    [...owners].filter(([, owner]) => owner === "web").map(([{ pid }]) => pid),
    [10, 11, 12, 13, 14, 15, 16],
    "16 is a child of one who carries the mark",
  );
});

test("a cycle of parents doesn't hang the scan", () => {
  assert.equal(ownersOf([usage(5, 6), usage(6, 5)], new Map([[9, "web"]]), () => undefined).size, 0);
});

test("the marker of a process is read once in its life", () => {
  const read: number[] = [];
  const markers = new RunMarkers("/state", KEY);
  const marks = new ProcessMarkers(
    markers,
    () => undefined,
    (pid) => {
      read.push(pid);
      return pid === 5
        ? `A=1\0PROCMAN_RUN_ID=${markers.of("web:2", 7)}\0`
        : `PROCMAN_RUN_ID=${new RunMarkers("/other", KEY).of("web", 7)}`;
    },
  );
  for (let look = 0; look < 2; look++) {
    assert.equal(marks.slotOf(usage(5, 1)), "web:2");
    assert.equal(marks.slotOf(usage(6, 1)), undefined, "of another procman");
    marks.endScan();
  }
  assert.deepEqual(read, [5, 6]);
  marks.endScan();
  marks.slotOf(usage(5, 1));
  assert.deepEqual(read, [5, 6, 5]);
});

test("a marker with a wrong proof counts only for a process of procman's user or of the slot's user", async (context) => {
  const markers = new RunMarkers("/state", KEY);
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const carrier = (marker: string, user?: OtherUser): number => {
    const child = spawn("sleep", ["600"], {
      env: { PROCMAN_RUN_ID: marker },
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    context.after(() => child.kill("SIGKILL"));
    return child.pid ?? 0;
  };
  const plain = new RunMarkers("/state", "0".repeat(32)).of("web", 1000);
  const [forged, own, real] = [carrier(plain, nobody), carrier(plain), carrier(markers.of("web", 2), nobody)];
  const found = (uid?: number): readonly number[] => {
    const pids = markedProcesses(markers, (slot) => (slot === "web" ? uid : undefined)).map(({ pid }) => pid);
    return [forged, own, real].filter((pid) => pids.includes(pid));
  };
  assert.deepEqual(found(), [own, real]);
  assert.deepEqual(found(nobody.uid), [forged, own, real]);
  const marks = new ProcessMarkers(markers, () => undefined);
  assert.deepEqual(
    [forged, own, real].map((pid) => marks.slotOf(usage(pid, 1))),
    [undefined, "web", "web"],
  );
});

test("the kernel's process table is parsed whatever a program's name is", () => {
  const fields = [
    "S",
    "1",
    "2",
    "3",
    "0",
    "-1",
    "0",
    "0",
    "0",
    "0",
    "0",
    "150",
    "50",
    "20",
    "10",
    "20",
    "0",
    "1",
    "0",
    "777",
    "0",
    "12",
  ];
  assert.deepEqual(parseStat(42, `42 (a) S (b c) ${fields.join(" ")}`), {
    pid: 42,
    parent: 1,
    group: 2,
    session: 3,
    startTime: "777",
    cpuSeconds: 2,
    reapedSeconds: 0.3,
    residentPages: 12,
  });
  assert.equal(parseStat(42, ""), undefined, "it has ended");
  const ps = parsePs("  42     1    40   1:02.50  2048 Sat Nov 21 15:00:00 2026");
  assert.deepEqual([ps?.pid, ps?.group, ps?.cpuSeconds, ps?.memoryBytes], [42, 40, 62.5, 2_097_152]);
  assert.equal(parsePs("1 0 1 2-03:01:02 8 Sat Nov 21 15:00:00 2026")?.cpuSeconds, 183_662);
  assert.equal(parsePs(""), undefined);
});

test("a process and its private memory are measured", async (context) => {
  const child = spawn(
    process.execPath,
    ["-e", "globalThis.kept = Buffer.alloc(50e6, 1); console.log(); setInterval(() => 0, 1e6)"],
    {
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  context.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const seen = (await processUsages()).find(({ pid }) => pid === child.pid);
  assert.equal(seen?.parent, process.pid);
  assert.ok(seen.cpuSeconds > 0);
  assert.ok(ownMemory(seen) > 50e6 && ownMemory(seen) < 400e6, String(ownMemory(seen)));
  child.kill("SIGKILL");
  await once(child, "exit");
  if (seen.memoryBytes === undefined) assert.equal(ownMemory(seen), 0, "no process has any");
});

test("each out-of-memory kill explains one exit, and none that comes much later", () => {
  let count = 5;
  const kills = new OomKills(() => count);
  assert.equal(kills.claim(0), false, "earlier kills explain no exit");
  count = 7;
  kills.poll(100_000);
  assert.deepEqual([kills.claim(100_500), kills.claim(100_600), kills.claim(100_700)], [true, true, false]);
  count = 8;
  kills.poll(200_000);
  assert.equal(kills.claim(220_000), false);
  count = 9;
  assert.equal(kills.claim(220_001), true, "seen at the end itself");
  assert.ok(Number.isInteger(oomKills()));
});
