/** Sampling of the process table. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { RunMarkers } from "../base/run-marker.ts";
import type { ProcessUsage } from "../os/process-usage.ts";
import { type Sample, Sampler, type SamplerPorts } from "./sampler.ts";

const usage = (pid: number, parent: number, cpuSeconds: number, reapedSeconds = 0): ProcessUsage => ({
  pid,
  parent,
  group: pid,
  session: pid,
  startTime: "1",
  cpuSeconds,
  reapedSeconds,
  memoryBytes: 1_000,
});

function sampler(options: Partial<SamplerPorts> = {}) {
  const table: { usages: ProcessUsage[] } = { usages: [] };
  const [seen, problems]: [ReadonlyMap<string, Sample>[], string[]] = [[], []];
  const subject = new Sampler({
    markers: new RunMarkers("/nowhere", "0".repeat(32)),
    uidOf: () => undefined,
    roots: () => new Map([[1_000, "web"]]),
    processOf: (slot) => slot,
    sampled: (samples) => seen.push(samples),
    isLimited: () => false,
    report: (problem) => problems.push(problem),
    usages: async () => table.usages,
    ...options,
  });
  return { subject, table, seen, problems };
}

test("memory is known from the first sample on, CPU from the second", async () => {
  const { subject, table } = sampler();
  table.usages = [usage(1_000, 1, 5), usage(1_001, 1_000, 3)];
  await subject.sample();
  assert.deepEqual(subject.of("web"), {
    cpuPercent: undefined,
    memoryBytes: 2_000,
    processes: 2,
    cpuSeconds: 0,
    leaders: [1_000],
  });
  table.usages = [usage(1_000, 1, 6), usage(1_001, 1_000, 5)];
  await subject.sample();
  assert.equal(subject.of("web")?.cpuSeconds, 3);
  assert.ok((subject.of("web")?.cpuPercent ?? 0) > 0);
});

test("the CPU time of a child that has exited counts once", async () => {
  const { subject, table } = sampler();
  table.usages = [usage(1_000, 1, 1), usage(1_001, 1_000, 3)];
  await subject.sample();
  table.usages = [usage(1_000, 1, 2, 5)];
  await subject.sample();
  assert.equal(subject.of("web")?.cpuSeconds, 3, "1 of the process, 2 of the child since the previous sample");
  table.usages = [usage(1_000, 1, 2, 5), usage(1_002, 1_000, 4)];
  await subject.sample();
  table.usages = [usage(1_000, 1, 2.5, 5)];
  await subject.sample();
  assert.equal(subject.of("web")?.cpuSeconds, 3 + 4 + 0.5, "the second child was reaped by another process");
});

test("the memory of an unchanged process is read once", async (context) => {
  const child = spawn("sleep", ["1000"]);
  await once(child, "spawn");
  context.after(() => child.kill("SIGKILL"));
  const { memoryBytes: _, ...own } = usage(child.pid as number, 1, 5);
  const { subject, table } = sampler({ roots: () => new Map([[own.pid, "web"]]) });
  const bytesOf = async (change: Partial<ProcessUsage>): Promise<number | undefined> => {
    table.usages = [{ ...own, residentPages: 300, ...change }];
    await subject.sample();
    return subject.of("web")?.memoryBytes;
  };
  const bytes = await bytesOf({});
  assert.ok(bytes !== undefined && bytes > 0);
  child.kill("SIGKILL");
  await once(child, "exit");
  assert.equal(await bytesOf({}), bytes, "the memory is not read again, although the process is gone");
  assert.equal(await bytesOf({ residentPages: 301 }), 0);
  assert.equal(await bytesOf({ residentPages: 301, cpuSeconds: 5.01 }), 0);
});

test("where a memory limit is set, a sample is taken each second, also on a machine with many processes", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { subject, seen } = sampler({ isLimited: () => true, usages: async () => afterBusy(10) });
  subject.start();
  for (let count = 1; count <= 4; count += 1) {
    context.mock.timers.tick(1_000);
    await setImmediate();
    assert.equal(seen.length, count);
  }
  subject.stop();
});

function afterBusy(ms: number): readonly ProcessUsage[] {
  const start = process.cpuUsage();
  const spent = (): number => Object.values(process.cpuUsage(start)).reduce((sum, each) => sum + each, 0);
  while (spent() < ms * 1_000);
  return [usage(1_000, 1, 1)];
}

test("a failed sample is reported once, and sampling continues", async () => {
  let fails = true;
  const { subject, problems } = sampler({
    usages: async () => {
      if (fails) throw new Error("no ps");
      return [usage(1_000, 1, 1)];
    },
  });
  await subject.sample();
  await subject.sample();
  assert.deepEqual(problems, ["Cannot measure CPU and memory: no ps; processes keep running"]);
  fails = false;
  await subject.sample();
  assert.equal(subject.of("web")?.memoryBytes, 1_000);
});

test("without runs no samples are taken; an ended run has no values", async () => {
  let looks = 0;
  let roots = new Map([[1_000, "web"]]);
  const { subject } = sampler({
    roots: () => roots,
    usages: async () => {
      looks++;
      return [usage(1_000, 1, 1)];
    },
  });
  await subject.sample();
  roots = new Map();
  await subject.sample();
  assert.equal(looks, 1);
  assert.equal(subject.of("web"), undefined);
});
