/** Looks at the load of each cluster with `scale` once a second, and carries out what the controller decides. */
import { isDeepStrictEqual } from "node:util";
import {
  NO_SAMPLES,
  type ScaleDecision,
  type ScaleOutcome,
  type ScalePolicy,
  type ScaleSample,
  type ScaleState,
  scaleStep,
} from "../../autoscale/scale-controller.ts";
import { growthText, refusalText, shrinkText } from "../../autoscale/scale-words.ts";
import {
  boundsAt,
  type NextBounds,
  type ScaleSpec,
  type ScheduledBounds,
  type SizeBounds,
} from "../../autoscale/size-schedule.ts";
import { ProcmanError } from "../../base/errors.ts";
import type { Clock } from "../../base/timer-clock.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { isStoppable } from "../../contract/status-sets.ts";
import { info, warn } from "../log-line.ts";
import type { Operations } from "../operations/operations.ts";
import type { Scaler } from "../operations/scale.ts";
import type { ServiceIncidents } from "../reporting/incidents.ts";
import type { RecordCache } from "../reporting/record-cache.ts";
import type { ServiceEvents } from "../reporting/service-events.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import { systemClock } from "../system-clock.ts";
import { memoryOwed, sampleOf } from "./cluster-sample.ts";
import { GrowthIncidents, SAME_MS } from "./growth-incidents.ts";

const INTERVAL_MS = 1_000;
const CALLER = { consumer: "autoscale" };

export type AutoscalerPorts = Pick<Services, "log" | "specs" | "supervisor"> & {
  readonly operations: Pick<Operations, "refuses">;
  readonly records: Pick<RecordCache, "group" | "invalidate">;
  readonly events: Pick<ServiceEvents, "publishScaled">;
  readonly incidents: Pick<ServiceIncidents, "write" | "latest">;
  readonly scaler: Pick<Scaler, "scale" | "isPinned" | "lastDecision">;
  readonly clock?: Clock;
  /** Bytes that programs may still take. */
  readonly freeMemory?: () => number;
};

type ScaledCluster = {
  /** Ids of its instances. */
  ids: readonly string[];
  spec: ScaleSpec;
  bounds: ScheduledBounds & { readonly since: number };
  state: ScaleState;
  /** Targets of which the load is not known now. */
  unknown: readonly string[];
  /** undefined: nothing is decided now. */
  outcome?: ScaleOutcome | undefined;
  /** Why it didn't get what it needs. */
  refusal?: Refused | undefined;
  /** The refusal that was reported last, and until when (monotonic milliseconds) it is the same one. */
  reported?: { readonly kind: string; readonly until: number };
};

type Look = { readonly id: string; readonly cluster: ScaledCluster; readonly record: ProcessRecord };

type Refused = { readonly at: number; readonly kind: string; readonly wanted: number; readonly reason: string };

export class Autoscaler implements Subsystem {
  readonly #ports: AutoscalerPorts;
  readonly #clock: Clock;
  readonly #growth: GrowthIncidents;
  readonly #clusters = new Map<string, ScaledCluster>();
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(ports: AutoscalerPorts) {
    this.#ports = ports;
    this.#clock = ports.clock ?? systemClock;
    this.#growth = new GrowthIncidents(ports.incidents, this.#clock);
  }

  apply(): void {
    const present = this.#present();
    for (const id of this.#clusters.keys()) {
      if (present.has(id)) continue;
      this.#clusters.delete(id);
      this.#growth.close(id, "it is no longer scaled by its load");
    }
    for (const [id, { spec, ids }] of present) {
      const known = this.#clusters.get(id);
      if (known !== undefined && isDeepStrictEqual(known.spec, spec)) known.ids = ids;
      else this.#clusters.set(id, { ids, spec, bounds: this.#boundsOf(spec), state: NO_SAMPLES, unknown: [] });
    }
    if (this.#clusters.size > 0 && this.#cancel === undefined) this.#arm();
  }

  #present(): ReadonlyMap<string, { readonly spec: ScaleSpec; readonly ids: string[] }> {
    const present = new Map<string, { readonly spec: ScaleSpec; readonly ids: string[] }>();
    for (const { id, cluster, scale } of this.#ports.specs.config.processes) {
      if (cluster === undefined || scale === undefined) continue;
      const known = present.get(cluster.id);
      if (known === undefined) present.set(cluster.id, { spec: scale, ids: [id] });
      else known.ids.push(id);
    }
    return present;
  }

  end(): void {
    this.#isOver = true;
    this.#cancel?.();
  }

  stopped(): void {
    this.#growth.closeAll("procman has ended");
  }

  retire(): void {
    this.end();
  }

  /** The record of a cluster with what is known of its size. */
  decorate(record: ProcessRecord): ProcessRecord {
    const known = record.type === "cluster" ? this.#clusters.get(record.id) : undefined;
    if (known === undefined) return record;
    const { bounds, outcome, refusal, spec, unknown } = known;
    const { min, max, next, by } = bounds;
    const count = record.instances?.length ?? 0;
    const isPinned = this.#ports.scaler.isPinned(record.id);
    const decision = this.#ports.scaler.lastDecision(record.id);
    return {
      ...record,
      reason: `${record.reason}; ${isPinned ? `pinned to ${count} by hand` : rangeText(spec, bounds)}`,
      scale: {
        min,
        max,
        desired: outcome?.desired ?? count,
        ...(unknown.length > 0 && { unknown: [...unknown] }),
        ...(isPinned && { pinned: true }),
        ...(by !== undefined && { schedule: by.pattern }),
        ...(next !== undefined && nextOf(next)),
        ...(decision !== undefined && { last: decision }),
        ...(refusal !== undefined && {
          refused: { time: new Date(refusal.at).toISOString(), wanted: refusal.wanted, reason: refusal.reason },
        }),
      },
    };
  }

  #arm(): void {
    if (this.#isOver) return;
    this.#cancel = this.#clock.at(this.#clock.now() + INTERVAL_MS, () => {
      this.#lookAtAll();
      this.#cancel = undefined;
      if (this.#clusters.size > 0) this.#arm();
    });
  }

  #lookAtAll(): void {
    const { freeMemory = () => process.availableMemory(), supervisor, records } = this.#ports;
    const wall = this.#clock.wall();
    const looks = [...this.#clusters].map(([id, cluster]) => {
      const record = records.group(
        id,
        cluster.ids.map((each) => supervisor.find(each)),
      );
      return { id, cluster, record, owed: memoryOwed(record, wall) };
    });
    // Once for all: it takes as long as the rest of a dozen clusters. What one is promised, no other one gets.
    let free = looks.reduce((rest, { owed }) => rest - owed, freeMemory());
    for (const { owed, ...look } of looks) free -= this.#look(look, free + owed);
  }

  /** Returns the bytes that the instances will take which it adds. */
  #look({ id, cluster, record }: Look, freeBytes: number): number {
    const at = this.#clock.now();
    const wall = this.#clock.wall();
    if (this.#isHeld(id, record)) {
      cluster.state = NO_SAMPLES;
      cluster.unknown = [];
      cluster.outcome = undefined;
      this.#settle(id, cluster, "its load decides nothing now");
      return 0;
    }
    if (wall < cluster.bounds.since || wall >= (cluster.bounds.next?.at ?? Number.POSITIVE_INFINITY))
      cluster.bounds = this.#boundsOf(cluster.spec);
    const policy = { ...cluster.spec, min: cluster.bounds.min, max: cluster.bounds.max };
    const sample = sampleOf(record, policy.targets, { at, wall, freeBytes });
    cluster.unknown = sample.serving === 0 ? [] : unknownOf(sample, policy);
    const outcome = scaleStep(cluster.state, sample, policy);
    cluster.state = outcome.state;
    cluster.outcome = outcome;
    const { decision, refusal } = outcome;
    if (decision !== undefined) this.#carryOut(id, cluster, decision);
    else if (refusal !== undefined)
      this.#refuse(id, cluster, { kind: refusal.kind, wanted: refusal.wanted, reason: refusalText(refusal) });
    else if (outcome.desired <= sample.instances && isKnown(sample, policy))
      this.#settle(id, cluster, "its load needs no more instances");
    const added = cluster.ids.length - sample.instances;
    return Math.max(0, added) * (sample.memory?.instanceBytes ?? 0);
  }

  /** Whether the number is somebody else's matter now: then earlier loads say nothing of later ones. */
  #isHeld(id: string, { blocked, instances = [] }: ProcessRecord): boolean {
    const { operations, scaler } = this.#ports;
    return (
      blocked ||
      !instances.some(isStoppable) ||
      scaler.isPinned(id) ||
      operations.refuses({ kind: "scale", targets: [id] })
    );
  }

  #carryOut(id: string, cluster: ScaledCluster, { from, to, reason }: ScaleDecision): void {
    const { scaler, log, events, records } = this.#ports;
    const why = to > from ? growthText(reason) : shrinkText(reason, to);
    const { by } = cluster.bounds;
    const isScheduled = reason.kind !== "load" && by?.[reason.kind] !== undefined;
    const text = isScheduled ? `${why} (schedule ${by.pattern})` : why;
    const time = new Date(this.#clock.wall()).toISOString();
    try {
      scaler.scale(id, { instances: to }, CALLER, { time, from, to, reason: text });
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      const message = inOneLine(error);
      return this.#refuse(id, cluster, { kind: message, wanted: to, reason: message });
    } finally {
      records.invalidate();
    }
    this.#settle(id, cluster, `it has ${to} instances now`);
    log.write(id, info(`scaled from ${from} to ${to}: ${text}`));
    events.publishScaled(id, { from, to, text });
  }

  /** Ends the refusal: the cluster has what it needs, or its load decides nothing. */
  #settle(id: string, cluster: ScaledCluster, why: string): void {
    cluster.refusal = undefined;
    this.#growth.close(id, why);
  }

  /** Reported once, until it is over for a while, or something else is the reason. */
  #refuse(id: string, cluster: ScaledCluster, refused: Omit<Refused, "at">): void {
    const now = this.#clock.now();
    const { refusal, reported } = cluster;
    cluster.refusal = { at: refusal?.kind === refused.kind ? refusal.at : this.#clock.wall(), ...refused };
    cluster.reported = { kind: refused.kind, until: now + SAME_MS };
    const count = cluster.ids.length;
    const text = `stays at ${count}: ${refused.reason}`;
    // Its own limit is no incident, and the failures of its instances are incidents already.
    if (refused.kind === "max" || refused.kind === "failing") this.#growth.close(id, refused.reason);
    else this.#growth.open(id, text);
    if (reported?.kind === refused.kind && now < reported.until) return;
    this.#ports.log.write(id, warn(text));
    this.#ports.events.publishScaled(id, { from: count, to: count, text });
  }

  #boundsOf(spec: ScaleSpec): ScaledCluster["bounds"] {
    const since = this.#clock.wall();
    return { ...boundsAt(spec, spec.schedules ?? [], since), since };
  }
}

function nextOf({ at, min, max, timeZone }: NextBounds): Partial<NonNullable<ProcessRecord["scale"]>> {
  const zone = timeZone === undefined ? {} : { timeZone };
  return { nextSchedule: new Date(at).toISOString(), nextMin: min, nextMax: max, ...zone };
}

/** The first line alone: the message about a file that isn't valid has more. */
function inOneLine({ message }: ProcmanError): string {
  const [first = "", ...others] = message.split("\n");
  return others.length === 0 ? first : `${first}; "procman validate" shows it`;
}

function unknownOf({ loads }: ScaleSample, { targets }: ScalePolicy): readonly string[] {
  return targets.flatMap(({ name }) => (loads.has(name) ? [] : [name]));
}

/** Whether anything of its load is known. */
function isKnown({ loads }: ScaleSample, { targets }: ScalePolicy): boolean {
  return targets.length === 0 || targets.some(({ name }) => loads.has(name));
}

function rangeText({ targets, schedules }: ScaleSpec, { min, max }: SizeBounds): string {
  if (targets.length > 0) return `${min} to ${max} by load`;
  return schedules === undefined ? "scaled to zero without clients" : "scaled by its schedules";
}
