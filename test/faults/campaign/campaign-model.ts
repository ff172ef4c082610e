/** What an operator has asked for and procman has acknowledged: compared with the records at each rest, whatever was killed. */
import type { Action } from "../../../src/core/contract/control.ts";
import type { ProcessRecord, Status } from "../../../src/core/contract/records.ts";
import {
  BY_HAND,
  CLUSTERS,
  type ClusterId,
  FOLLOWERS,
  GROUP,
  NEEDS,
  PROFILE,
  PROFILED,
  SIZED,
  STEADY,
  TEXTED,
  type Variant,
} from "./campaign-load.ts";
import { CampaignSize } from "./campaign-size.ts";

/** `unknown`: no answer, so both the state before and the one asked for are right, until the next state is seen. */
export type Outcome = "done" | "refused" | "unknown";

/** Those that are right. */
type Possible = ReadonlySet<boolean>;
const YES: Possible = new Set([true]);
const NO: Possible = new Set([false]);
const EITHER: Possible = new Set([true, false]);

type Flags = { readonly blocked: Possible; readonly disabled: Possible; readonly up: Possible };
/** `isTouched`: since the last rest there was a reason for another run. `seen`: at the last rest. */
type Leaf = Flags & { readonly isTouched: boolean; readonly seen?: ProcessRecord };

const DOWN: readonly Status[] = ["stopped", "created", "finished", "errored", "exhausted"];

const CLUSTER_IDS = Object.keys(CLUSTERS) as ClusterId[];
const isCluster = (id: string): id is ClusterId => id in CLUSTERS;
const union = (one: Possible, other: Possible): Possible => (one === other ? one : EITHER);

export class CampaignModel {
  /** Of processes and instances. */
  readonly #leaves = new Map<string, Leaf>();
  /** Numbers of instances that are right. */
  readonly #counts = new Map<ClusterId, ReadonlySet<number>>();
  /** Of the cluster itself: instances that come later get it. */
  readonly #ofCluster = new Map<ClusterId, Flags>();
  #profile: Possible = YES;
  /** The file that may be applied at any moment, as a new service does it. */
  #pending: Variant | undefined;
  compared = 0;
  readonly size = new CampaignSize();

  constructor() {
    for (const id of [...STEADY, PROFILED]) this.#leaves.set(id, leaf(YES));
    this.#leaves.set(BY_HAND, leaf(NO));
    for (const [id, count] of Object.entries(CLUSTERS) as [ClusterId, number][]) {
      this.#ofCluster.set(id, leaf(YES));
      this.#setCounts(id, new Set([count]));
    }
  }

  /** Whether a file was written that is not known to be applied. */
  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** Ids that the operator may name. */
  get targets(): readonly string[] {
    return [...this.#leaves.keys(), ...Object.keys(CLUSTERS), GROUP.id];
  }

  /** Whether clients of the cluster must be served. */
  serves(id: ClusterId): boolean {
    return this.#leavesOf(id).some((each) => this.#leaf(each).up === YES && !this.#leaf(each).isTouched);
  }

  acted(id: string, action: Action, outcome: Outcome): void {
    if (outcome === "refused") return;
    // A member may have been refused, which the answer doesn't say.
    const isSure = outcome === "done" && !id.startsWith("group:");
    for (const name of this.#leavesOf(id)) {
      const before = this.#leaf(name);
      const after = effectOf(action, before);
      this.#leaves.set(name, isSure ? after : { ...either(before, after), isTouched: after.isTouched });
      if (after.isTouched) this.#touchFollowers(name);
    }
    const clusters = CLUSTER_IDS.filter((each) => each === id || (id === GROUP.id && GROUP.members.includes(each)));
    for (const cluster of clusters) {
      const before = this.#ofCluster.get(cluster) as Flags;
      const after = effectOf(action, leaf(before.up, before));
      this.#ofCluster.set(cluster, isSure ? after : either(before, after));
    }
  }

  scaled(id: ClusterId, count: number, outcome: Outcome): void {
    if (outcome === "refused") return;
    const asked = new Set([count, ...(this.#pending === undefined ? [] : [this.#pending.counts[id]])]);
    this.#setCounts(id, outcome === "done" ? asked : new Set([...asked, ...this.#countsOf(id)]));
  }

  /** From now on a new service may apply this file, if a kill makes one. */
  wrote(variant: Variant, isTextNew: boolean): void {
    this.#pending = variant;
    for (const id of CLUSTER_IDS) this.#setCounts(id, new Set([...this.#countsOf(id), variant.counts[id]]));
    if (isTextNew) for (const name of TEXTED.flatMap((id) => this.#leavesOf(id))) this.touch(name);
  }

  /** `profile`: a reload with this one; undefined: with that before. */
  reloaded(variant: Variant, outcome: Outcome, profile?: string): void {
    this.size.reset(outcome);
    if (profile !== undefined && outcome !== "refused") {
      this.#profile = outcome === "done" ? (profile === PROFILE ? YES : NO) : EITHER;
      this.touch(PROFILED);
      // What comes with the profile is new.
      this.#leaves.set(PROFILED, { ...leaf(EITHER), blocked: EITHER });
    }
    if (outcome === "refused") return;
    for (const id of CLUSTER_IDS) {
      const right = new Set([variant.counts[id]]);
      this.#setCounts(id, outcome === "done" ? right : new Set([...right, ...this.#countsOf(id)]));
    }
    if (outcome === "done") this.#pending = undefined;
  }

  /** A run of it was ended: its policy starts another one, unless that is blocked. */
  ended(id: string): void {
    const found = this.#leaves.get(id);
    if (found === undefined) return;
    this.touch(id);
    if (found.blocked !== NO || found.disabled !== NO)
      this.#leaves.set(id, { ...this.#leaf(id), up: union(found.up, NO) });
  }

  /** There is a reason why it is restarted. */
  touch(id: string): void {
    for (const name of this.#leavesOf(id)) {
      if (this.#leaves.has(name)) this.#leaves.set(name, { ...this.#leaf(name), isTouched: true });
      this.#touchFollowers(name);
    }
  }

  /** It may be up or not from now on. */
  doubt(id: string): void {
    this.touch(id);
    for (const name of this.#leavesOf(id)) this.#leaves.set(name, { ...this.#leaf(name), up: EITHER });
  }

  /** procman has ended in order, or its end was cut off, and was started again. */
  restarted(variant: Variant, wasCut: boolean): void {
    this.size.reset("done");
    for (const [id, { disabled, up, blocked }] of this.#leaves) {
      const isBlocked = wasCut && blocked !== NO ? EITHER : NO;
      const starts = id === BY_HAND ? NO : disabled === NO && isBlocked === NO ? YES : EITHER;
      this.#leaves.set(id, {
        blocked: isBlocked,
        disabled,
        up: id === BY_HAND && wasCut ? union(up, NO) : starts,
        isTouched: true,
      });
    }
    for (const [id, flags] of this.#ofCluster)
      this.#ofCluster.set(id, { ...flags, blocked: wasCut ? EITHER : NO, up: YES });
    for (const id of CLUSTER_IDS) this.#setCounts(id, new Set([variant.counts[id]]));
    this.#profile = YES;
    this.#leaves.set(PROFILED, { ...leaf(YES), disabled: this.#leaf(PROFILED).disabled, isTouched: true });
    if (this.#leaf(PROFILED).disabled !== NO) this.doubt(PROFILED);
    this.#pending = undefined;
  }

  /** What the records contradict. Then they are what is right. */
  compare(records: readonly ProcessRecord[]): readonly string[] {
    const all = new Map(
      records.flatMap((record) => [record, ...(record.instances ?? [])]).map((record) => [record.id, record]),
    );
    const findings = [...this.#compareCounts(all), ...this.#compareProfile(all), ...this.size.compare(all.get(SIZED))];
    for (const [id, known] of this.#leaves) {
      const record = all.get(id);
      if (record === undefined) continue;
      this.compared += 1;
      findings.push(...this.#contradictions(known, record, all).map((what) => `${id}: ${what}; ${brief(record)}`));
      const up = record.status === "running" ? YES : DOWN.includes(record.status) ? NO : known.up;
      this.#leaves.set(id, { ...flagsOf(record), up, isTouched: false, seen: record });
    }
    return findings;
  }

  #contradictions(
    { blocked, disabled, up, isTouched, seen }: Leaf,
    record: ProcessRecord,
    all: ReadonlyMap<string, ProcessRecord>,
  ) {
    const found: string[] = [];
    if (!blocked.has(record.blocked)) found.push(`blocked is ${record.blocked}`);
    if (!disabled.has(record.disabled === true)) found.push(`disabled is ${record.disabled === true}`);
    if (up === NO && !DOWN.includes(record.status)) found.push("it was stopped");
    if (up === YES && record.status !== "running" && !waitsRightly(record, all)) found.push("it was started");
    if (isTouched || seen?.status !== "running" || record.status !== "running" || seen.pid === record.pid) return found;
    return [...found, `another pid without a reason, before: ${brief(seen)}`];
  }

  #compareCounts(all: ReadonlyMap<string, ProcessRecord>): readonly string[] {
    return [...this.#counts].flatMap(([id, right]) => {
      const count = all.get(id)?.instances?.length ?? 0;
      this.#setCounts(id, new Set([count]));
      return right.has(count) ? [] : [`${id}: it has ${count} instances instead of ${[...right].join(" or ")}`];
    });
  }

  #compareProfile(all: ReadonlyMap<string, ProcessRecord>): readonly string[] {
    const [right, isActive] = [this.#profile, all.has(PROFILED)];
    this.#profile = isActive ? YES : NO;
    return right.has(isActive) ? [] : [`the profile is ${isActive ? "active again" : "lost"}`];
  }

  #leaf(id: string): Leaf {
    return this.#leaves.get(id) ?? leaf(EITHER);
  }

  #leavesOf(id: string): readonly string[] {
    if (id === GROUP.id) return GROUP.members.flatMap((member) => this.#leavesOf(member));
    return isCluster(id) ? [...this.#leaves.keys()].filter((name) => name.replace(/-\d+$/, "") === id) : [id];
  }

  #touchFollowers(id: string): void {
    const follower = FOLLOWERS[id];
    if (follower !== undefined) this.#leaves.set(follower, { ...this.#leaf(follower), isTouched: true });
  }

  #countsOf(id: ClusterId): ReadonlySet<number> {
    return this.#counts.get(id) ?? new Set();
  }

  /** Of instances that may be removed and added again, only what the cluster says is known. */
  #setCounts(id: ClusterId, counts: ReadonlySet<number>): void {
    const least = Math.min(...counts, ...this.#countsOf(id));
    const most = Math.max(...counts);
    const { disabled } = this.#ofCluster.get(id) as Flags;
    const blocked = union(this.#blockOfFirst(id, least), this.#blockOfFirst(id, Number.POSITIVE_INFINITY));
    this.#counts.set(id, counts);
    for (const name of this.#leavesOf(id)) if (Number(/\d+$/.exec(name)) > most) this.#leaves.delete(name);
    for (let number = 1; number <= most; number += 1) {
      const name = `${id}-${number}`;
      const before = this.#leaves.get(name);
      if (before !== undefined && number <= least) continue;
      const added: Leaf = { blocked, disabled, up: EITHER, isTouched: true };
      this.#leaves.set(name, before === undefined ? added : { ...either(before, added), isTouched: true });
    }
  }

  /** Whether a new instance is blocked: if all are that were there before, which are those up to this number. */
  #blockOfFirst(id: ClusterId, last: number): Possible {
    const blocks = this.#leavesOf(id)
      .filter((name) => Number(/\d+$/.exec(name)) <= last)
      .map((name) => this.#leaf(name).blocked);
    if (blocks.length === 0 || blocks.some((block) => block === NO)) return NO;
    return blocks.includes(EITHER) ? EITHER : YES;
  }
}

function leaf(up: Possible, flags: Pick<Flags, "blocked" | "disabled"> = { blocked: NO, disabled: NO }): Leaf {
  return { blocked: flags.blocked, disabled: flags.disabled, up, isTouched: false };
}

function flagsOf({ blocked, disabled }: ProcessRecord): Pick<Flags, "blocked" | "disabled"> {
  return { blocked: blocked ? YES : NO, disabled: disabled === true ? YES : NO };
}

function either(one: Flags, other: Flags): Flags {
  const of = (name: keyof Flags): Possible => union(one[name], other[name]);
  return { blocked: of("blocked"), disabled: of("disabled"), up: of("up") };
}

function effectOf(action: Action, before: Leaf): Leaf {
  switch (action) {
    case "start":
    case "restart":
      // A blocked one is refused, or skipped.
      return { ...before, up: before.blocked === NO ? YES : union(before.up, YES), isTouched: true };
    case "stop":
      return { ...before, up: NO, isTouched: true };
    case "block":
      // What was under way is prevented.
      return { ...before, blocked: YES, up: before.isTouched ? union(before.up, NO) : before.up };
    case "unblock":
      return { ...before, blocked: NO, isTouched: true };
    case "enable":
    case "disable":
      return { ...before, disabled: action === "disable" ? YES : NO };
    default:
      return action satisfies never;
  }
}

/** It waits for a process that isn't up. */
function waitsRightly({ id, status }: ProcessRecord, all: ReadonlyMap<string, ProcessRecord>): boolean {
  return ["waiting", "skipped"].includes(status) && (NEEDS[id] ?? []).some((other) => all.get(other)?.ready !== true);
}

function brief({ status, pid, run, blocked, disabled, reason }: ProcessRecord): string {
  return JSON.stringify({ status, pid, run, blocked, disabled, reason });
}
