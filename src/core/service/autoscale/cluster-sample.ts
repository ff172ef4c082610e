/** The load of a cluster, from its record. */
import type { LoadTarget, ScaleSample } from "../../autoscale/scale-controller.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { isAsleep, isDownByFailure, isUp } from "../../contract/status-sets.ts";

/** A report of telemetry that is older says nothing. Milliseconds. */
const REPORT_AGE_MS = 60_000;
/** A run that is shorter may not have taken its memory yet, or not been measured since. Milliseconds. */
const SETTLED_MS = 15_000;
/** A run that was restarted more than once in a row must last this long to count as one that stays up. Milliseconds. */
const STAYS_UP_MS = 60_000;

/** `at`: monotonic, `wall`: since 1970; milliseconds. `freeBytes`: without what instances of other clusters have yet to take. */
export type SampleContext = { readonly at: number; readonly wall: number; readonly freeBytes: number };

/** A cluster that sleeps has no load. */
export function sampleOf(record: ProcessRecord, targets: readonly LoadTarget[], context: SampleContext): ScaleSample {
  const { instances = [], balancer } = record;
  const sleeps = instances.every(isAsleep);
  const serving = instances.filter(isServing);
  const names = new Set(targets.flatMap(({ name }) => (name === "waiting" ? [name, "connections"] : [name])));
  const loads = [...names].flatMap((name): readonly (readonly [string, number])[] => {
    const load = sleeps ? 0 : name === "waiting" ? balancer?.waiting : loadOf(serving, name, context);
    return load === undefined ? [] : [[name, load]];
  });
  const failing = instances.find((instance) => isFailing(instance, context));
  const use = memoryUse(serving, context.wall);
  const memory = use && {
    freeBytes: Math.max(0, context.freeBytes - use.owed),
    instanceBytes: use.instanceBytes,
  };
  return {
    at: context.at,
    instances: instances.length,
    serving: sleeps ? instances.length : serving.length,
    loads: new Map(loads),
    ...(memory !== undefined && { memory }),
    ...(failing !== undefined && { failing: failing.id }),
  };
}

/** The load of all together; those of which it is not known are taken to have the mean of the others. */
function loadOf(serving: readonly ProcessRecord[], name: string, context: SampleContext): number | undefined {
  const known = serving.flatMap((instance) => loadOfInstance(instance, name, context) ?? []);
  if (known.length === 0) return undefined;
  return (known.reduce((sum, load) => sum + load, 0) / known.length) * serving.length;
}

function loadOfInstance(
  { cpuPercent, backend, telemetry }: ProcessRecord,
  name: string,
  { wall }: SampleContext,
): number | undefined {
  if (name === "cpu") return cpuPercent;
  if (name === "connections") return backend?.connections;
  if (telemetry === undefined || wall - Date.parse(telemetry.sent) > REPORT_AGE_MS) return undefined;
  return telemetry.metrics?.[name.slice("metric:".length)];
}

/** Bytes that instances of the cluster have yet to take: young ones, and those that don't serve yet. */
export function memoryOwed({ instances = [] }: ProcessRecord, wall: number): number {
  const serving = instances.filter(isServing);
  const use = memoryUse(serving, wall);
  return use === undefined ? 0 : use.owed + (instances.length - serving.length) * use.instanceBytes;
}

function isServing(instance: ProcessRecord): boolean {
  return isUp(instance) && instance.backend?.accepting !== false;
}

/** What one instance uses, and what young ones have yet to take of that. Until one has settled, the others say what an instance uses. */
function memoryUse(
  serving: readonly ProcessRecord[],
  wall: number,
): { readonly instanceBytes: number; readonly owed: number } | undefined {
  const known = serving.filter(({ memoryBytes }) => memoryBytes !== undefined);
  if (known.length === 0) return undefined;
  const isYoung = ({ started }: ProcessRecord): boolean =>
    started !== undefined && wall - Date.parse(started) < SETTLED_MS;
  const settled = known.filter((instance) => !isYoung(instance));
  const measured = settled.length === 0 ? known : settled;
  const instanceBytes = measured.reduce((sum, { memoryBytes = 0 }) => sum + memoryBytes, 0) / measured.length;
  const owed = serving
    .filter(isYoung)
    .reduce((sum, { memoryBytes = 0 }) => sum + Math.max(0, instanceBytes - memoryBytes), 0);
  return { instanceBytes, owed };
}

/** Whether it is down by a failure, or has been and has not lasted since. */
function isFailing(record: ProcessRecord, { wall }: SampleContext): boolean {
  const { restarts, started } = record;
  if (isDownByFailure(record)) return true;
  if (restarts === 0) return false;
  if (!isUp(record)) return true;
  return restarts > 1 && started !== undefined && wall - Date.parse(started) < STAYS_UP_MS;
}
