/** A process of the configuration: its slots, block and schedules. */
import { GIVES_WAY, ProcmanError } from "../base/errors.ts";
import { type Change, effectOf, followedIn, type ProcessDefinition, schedulesOf, sleeps } from "./definition.ts";
import { effectOn, type FileChange, type FileEffect } from "./file-change.ts";
import { missedSchedules } from "./missed-runs.ts";
import type { ProcessPorts } from "./process-ports.ts";
import { Slot, type Transition } from "./slot.ts";
import { type MissedSchedule, type ProcessSnapshot, snapshotOf } from "./snapshot.ts";
import { initial, type Report, type ScheduledAction, type SlotState, type StopCause } from "./states.ts";
import { type EarlierTimetable, isSame, Timetable } from "./timetable.ts";
import {
  hasCurrentRun,
  isAsleep,
  isDown,
  isFallingAsleep,
  isIdle,
  isInBackoff,
  isOutForHealth,
  isRunning,
  isStopping,
  isUnderWay,
  isWaiting,
  wasNeverStarted,
} from "./verdict.ts";

export class Process {
  #definition: ProcessDefinition;
  readonly #ports: ProcessPorts;
  readonly #slots: Slot[] = [];
  readonly #timetable: Timetable;
  #blocked: boolean;
  /** Slots whose start or restart the block has prevented. */
  readonly #held: Set<string>;
  /** When dependencies with `restart: true` were declared by a reload. Monotonic milliseconds. */
  readonly #declared: Map<string, number>;
  /** Its scheduled starts that were missed last, until the next one comes. */
  #missed: MissedSchedule | undefined;
  #retired = false;
  #disposed = false;
  /** When its latest run ended; monotonic milliseconds. */
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(definition: ProcessDefinition, ports: ProcessPorts, snapshot?: ProcessSnapshot) {
    this.#definition = definition;
    this.#ports = ports;
    this.#blocked = snapshot?.blocked ?? false;
    this.#held = new Set(snapshot?.held);
    this.#declared = new Map(Object.entries(snapshot?.declared ?? {}));
    const slots = { [definition.id]: initial, ...snapshot?.slots };
    // What was requested and lost is requested again in this order.
    for (const [id, state] of Object.entries(slots).sort(([, one], [, other]) => one.run - other.run))
      this.#addSlot(id, state);
    this.#slots.sort((one, other) => slotNumber(one) - slotNumber(other));
    const due = (kind: ScheduledAction, planned: number): void =>
      kind === "start" ? this.#onCron(planned) : this.#onTerminate(planned);
    const before = this.#missedBefore(snapshot);
    this.#timetable = new Timetable(ports.clock, { due, moved: () => this.#remember() }, before);
    this.#timetable.set(schedulesOf(definition));
    if (!isSame(snapshot?.planned ?? {}, this.#timetable.planned)) this.#remember();
  }

  get id(): string {
    return this.#definition.id;
  }

  get definition(): ProcessDefinition {
    return this.#definition;
  }

  get isBlocked(): boolean {
    return this.#blocked;
  }

  /** Whether it starts only by request, even after a shutdown or a reboot. */
  get isDisabled(): boolean {
    return this.#ports.lasting?.isDisabled(this.id) === true;
  }

  /** The states of all slots; the first slot has the process's id, the others are for overlapping runs. */
  get states(): readonly SlotState[] {
    return this.#slots.map(({ state }) => state);
  }

  get isIdle(): boolean {
    return this.#slots.every(({ isFree }) => isFree);
  }

  /** Runs that were requested and have not ended. */
  get runs(): readonly { readonly slot: string; readonly run: number; readonly state: SlotState }[] {
    return this.#slots
      .filter(({ state }) => hasCurrentRun(state))
      .map(({ id, state }) => ({ slot: id, run: state.run, state }));
  }

  /** How long its youngest run has been running; Infinity: none runs. Milliseconds. */
  get uptimeMs(): number {
    const now = this.#ports.clock.now();
    return Math.min(...this.states.filter(isRunning).map(({ since }) => now - since));
  }

  /** A run of the dependency `id` that began later than this restarts the process. Monotonic milliseconds; undefined: it has no run. */
  followsSince(id: string): number | undefined {
    const [state] = this.states;
    return isRunning(state) ? Math.max(state.since, this.#declared.get(id) ?? state.since) : undefined;
  }

  /** The next scheduled time; milliseconds since 1970. None for the start of a blocked or disabled process. */
  next(kind: "start" | "terminate"): number | undefined {
    if (kind === "start" && (this.isBlocked || this.isDisabled)) return undefined;
    return this.#timetable.next(kind);
  }

  /** Scheduled starts that procman missed; undefined once another has come. */
  get missed(): MissedSchedule | undefined {
    return this.#missed;
  }

  /** @throws ProcmanError `process-blocked`, `process-leaving`, or `process-running` if it is running and `overrun` is off. */
  start(): void {
    this.#admit("start");
    const what = this.states.some(isWaiting) ? "waiting" : "running";
    if (!this.#begin()) throw new ProcmanError("process-running", `Cannot start "${this.id}": it is already ${what}`);
  }

  /** Starts it because of `autostart` or a changed file; if it is blocked, when the block is lifted. What sleeps begins asleep. */
  startIfAllowed(mayBeginAsleep = true): void {
    if (this.#retired) return;
    if (mayBeginAsleep && sleeps(this.#definition)) return this.sleep();
    if (!this.#blocked) return void this.#begin();
    if (this.isIdle) this.#held.add(this.id);
    this.#remember();
  }

  /** Passes the result of a probe to the run. */
  report(slot: string, report: Report & { readonly type: "ready" | "health" | "fault" }): void {
    const held = report.type === "health" && !report.good && this.#ports.healthHold(this.id) !== undefined;
    this.#slots.find(({ id }) => id === slot)?.post(held ? { ...report, held } : report);
  }

  stop(): void {
    this.#held.clear();
    this.#end("idle", "operator");
  }

  /** Stops it until its next client comes. */
  sleep(): void {
    for (const slot of this.#slots) slot.post({ type: "stop", next: "idle", cause: "idle" });
  }

  /** Whether it sleeps, or is about to, and a client starts it. */
  get isDormant(): boolean {
    const mayWake = !this.#blocked && !this.#retired && !this.isDisabled;
    return mayWake && this.states.some((state) => isAsleep(state) || isFallingAsleep(state));
  }

  /** Starts it, if it sleeps: a client has come, or `dependent` needs it. */
  wake(dependent?: string): void {
    if (!this.isDormant) return;
    this.#ports.notice(this.id, { type: "woken", ...(dependent !== undefined && { dependent }) });
    this.#begin();
  }

  /** What it waited for has happened. */
  resume(type: "dependencies-ready" | "dependents-gone"): void {
    for (const slot of this.#slots) slot.post({ type });
  }

  /** What has kept it from being healthy is over: it need not wait for its restart any longer. */
  endHealthBackoff(): void {
    for (const slot of this.#slots)
      if (isOutForHealth(slot.state)) slot.post({ type: "timer", run: slot.state.run, name: "restart" });
  }

  /** Restarts it because its dependency `id` was restarted. */
  restartWithDependency(id: string): void {
    if (this.#blocked || this.#retired) return;
    this.#ports.notice(this.id, { type: "follows", id });
    this.restart();
  }

  /** Restarts it, or starts it if idle. @throws ProcmanError `process-blocked`, `process-leaving` */
  restart(): void {
    this.#admit("restart");
    this.#startAnew("operator");
  }

  /** When its last run ended, if it was seen; monotonic milliseconds. */
  get endedAt(): number {
    return this.#endedAt;
  }

  /** The effect that changed files would have; undefined: none. */
  effectOf({ at }: FileChange): FileEffect | undefined {
    if (this.#retired || (this.isDisabled && this.isIdle)) return undefined;
    return effectOn(this.states[0], { at, endedAt: this.#endedAt, blocked: this.#blocked });
  }

  /** Starts or restarts it, unless its run is younger than the change. */
  onFileChange(change: FileChange): void {
    const effect = this.effectOf(change);
    if (effect === undefined) return;
    this.#ports.notice(this.id, { type: "watch", files: change.files, count: change.count, effect });
    if (effect !== "blocked") this.#startAnew("watch");
  }

  /** From now on, policy, cron and watch start nothing; what is running keeps running. */
  block(): void {
    if (this.#blocked) return;
    this.#blocked = true;
    for (const slot of this.#slots) {
      slot.rearm();
      if (isWaiting(slot.state) || isInBackoff(slot.state)) this.#held.add(slot.id);
      slot.post(isWaiting(slot.state) ? { type: "stop", next: "idle", cause: "operator" } : { type: "cancel-restart" });
    }
    this.#ports.notice(this.id, { type: "blocked" });
    this.#remember();
  }

  /** A start or restart that the block has prevented happens now. */
  unblock(): void {
    if (!this.#blocked) return;
    this.#blocked = false;
    const held = this.#slots.filter(({ id }) => this.#held.has(id));
    this.#held.clear();
    for (const slot of this.#slots) slot.rearm();
    this.#ports.notice(this.id, { type: "unblocked" });
    if (!this.#retired) for (const slot of held) slot.post({ type: "unblocked" });
    this.#remember();
  }

  /** From now on it starts only by request; what is running keeps running, by its policy. */
  disable(): void {
    this.#setDisabled(true);
  }

  /** Undoes `disable()`: schedules, watches and dependencies may start it again. */
  enable(): void {
    this.#setDisabled(false);
  }

  #setDisabled(isDisabled: boolean): void {
    if (isDisabled === this.isDisabled) return;
    this.#ports.lasting?.setDisabled(this.id, isDisabled);
    // Without a note, the next service would take one that has not run yet for new, and start it.
    this.#remember();
    this.#ports.notice(this.id, { type: isDisabled ? "disabled" : "enabled" });
  }

  /**
   * Applies another definition: policy and schedules take effect immediately, also for present runs. With `restart` the
   * command has changed, so slots that run or wait for a restart are restarted and a failed process is started. Without
   * `change` no notice is published.
   */
  update(definition: ProcessDefinition, change?: Change): void {
    const before = this.#definition;
    this.#definition = definition;
    this.#declare(before, definition);
    this.#retired = false;
    this.#timetable.set(schedulesOf(definition));
    const effect =
      change === undefined
        ? "none"
        : effectOf(change, before, {
            definition,
            blocked: this.#blocked,
            disabled: this.isDisabled,
            states: this.states,
          });
    if (change !== undefined) this.#ports.notice(this.id, { type: "changed", fields: change.fields, effect });
    for (const slot of this.#slots) {
      slot.rearm();
      if (definition.policy.restart === "never") slot.post({ type: "cancel-restart" });
      if (effect === "restarts" && isUnderWay(slot.state))
        slot.post({ type: "stop", next: "start", cause: "operator" });
    }
    if (effect === "starts") this.#startByChange();
    else if (!sleeps(definition) && this.states.some(isAsleep)) this.stop();
    this.#remember();
  }

  #startByChange(): void {
    if (sleeps(this.#definition) && this.states.every(wasNeverStarted)) this.sleep();
    else this.#begin();
  }

  /** Ends schedules and starts: the process is about to be stopped and removed. */
  retire(): void {
    this.#retired = true;
    this.#timetable.stop();
  }

  /** Drops all timers and ignores all inputs; what is running keeps running. */
  dispose(): void {
    this.#disposed = true;
    this.retire();
    for (const slot of this.#slots) slot.dispose();
  }

  /** Reports what was missed while procman was away. Returns what the timetable continues from. */
  #missedBefore(snapshot: ProcessSnapshot | undefined): EarlierTimetable {
    const { clock, lasting, notice } = this.#ports;
    const stored = snapshot?.planned === undefined ? lasting?.plannedStart(this.#definition) : undefined;
    const planned = stored === undefined ? snapshot?.planned : { start: stored };
    const missed = missedSchedules(planned ?? {}, this.#definition, { wall: clock.wall(), isIdle: this.isIdle });
    for (const [kind, times] of missed) notice(this.id, { type: "missed", kind, ...times });
    const starts = missed.get("start");
    this.#missed = starts ?? snapshot?.missed;
    return { met: snapshot?.met, ...(starts?.isMadeUpFor && { due: { start: starts.last } }) };
  }

  /** Runs that a dependency had before it was declared are not restarts of it. */
  #declare(before: ProcessDefinition, now: ProcessDefinition): void {
    const earlier = new Set(followedIn(before));
    const present = new Set(followedIn(now));
    for (const id of this.#declared.keys()) if (!present.has(id)) this.#declared.delete(id);
    for (const id of present) if (!earlier.has(id)) this.#declared.set(id, this.#ports.clock.now());
  }

  #admit(verb: string): void {
    if (this.#disposed) throw new ProcmanError("service-down", `Cannot ${verb} "${this.id}": ${GIVES_WAY}`);
    if (this.#blocked)
      throw new ProcmanError("process-blocked", `Cannot ${verb} "${this.id}": it is blocked; unblock it first`);
    if (this.#retired) throw new ProcmanError("process-leaving", `Cannot ${verb} "${this.id}": it is being removed`);
  }

  #startAnew(cause: StopCause): void {
    const [first, ...others] = this.#slots;
    for (const slot of others) slot.post({ type: "stop", next: "idle", cause });
    first?.post({ type: "stop", next: "start", cause });
  }

  #begin(): boolean {
    const slot = this.#slotForStart();
    slot?.post({ type: "start" });
    return slot !== undefined;
  }

  /** With `overrun`, a free slot or a new one; otherwise the slot in use if its run is over or being stopped. */
  #slotForStart(): Slot | undefined {
    if (this.#definition.overrun)
      return this.#slots.find(({ state }) => isDown(state)) ?? this.#addSlot(this.#freeName());
    const used = this.#slots.filter(({ isFree }) => !isFree);
    if (used.some(({ state }) => !isStopping(state) && !isInBackoff(state))) return undefined;
    return used[0] ?? this.#slots[0];
  }

  /** A name for another slot, for an overlapping run. */
  #freeName(): string {
    const taken = new Set(this.#slots.map(({ id }) => id));
    for (let number = 2; ; number++) if (!taken.has(`${this.id}:${number}`)) return `${this.id}:${number}`;
  }

  #nextRun(slot: Slot): number {
    return (
      1 + this.#slots.reduce((last, other) => (other === slot ? last : Math.max(last, other.lastRun)), slot.state.run)
    );
  }

  #isAlone(slot: Slot): boolean {
    const { overrun } = this.#definition;
    return (
      !overrun && this.#slots.every((other) => other === slot || (other.isFree && other.lastRun <= slot.state.run))
    );
  }

  #onCron(planned: number): void {
    if (this.#missed !== undefined && planned > this.#missed.last) this.#missed = undefined;
    this.#remember();
    const reason = this.#blocked
      ? "it is blocked"
      : this.isDisabled
        ? "it is disabled"
        : this.#slotForStart() === undefined
          ? "its previous run is still under way and overrun is off"
          : undefined;
    if (reason !== undefined) return this.#ports.notice(this.id, { type: "skipped", planned, reason });
    this.#ports.notice(this.id, { type: "scheduled", planned });
    this.#begin();
  }

  #onTerminate(planned: number): void {
    this.#remember();
    if (this.isIdle) return;
    this.#ports.notice(this.id, { type: "terminated", planned });
    this.#end("policy", "terminate");
  }

  #end(next: "idle" | "policy", cause: StopCause): void {
    const held = next === "idle" && this.#ports.hasRunningDependents(this.id);
    for (const slot of this.#slots) slot.post({ type: "stop", next, cause, held });
  }

  #addSlot(id: string, state?: SlotState): Slot {
    const slot = new Slot(
      id,
      {
        clock: this.#ports.clock,
        spawner: this.#ports.spawner,
        // A blocked process is never restarted.
        policy: () => (this.#blocked ? { ...this.#definition.policy, restart: "never" } : this.#definition.policy),
        nextRun: (slot) => this.#nextRun(slot),
        isAlone: (slot) => this.#isAlone(slot),
        publish: (transition) => this.#publish(transition),
      },
      state,
    );
    this.#slots.push(slot);
    return slot;
  }

  #publish(transition: Transition): void {
    if (isIdle(transition.to)) this.#endedAt = this.#ports.clock.now();
    if (this.#blocked) this.#holdRestart(transition);
    this.#remember();
    this.#ports.publish(transition);
  }

  /** A run that ended by itself while the process was blocked: without the block its policy would have decided. */
  #holdRestart({ slot, to }: Transition): void {
    if (isIdle(to) && (to.outcome.kind === "failed" || to.outcome.kind === "finished")) this.#held.add(slot);
  }

  #remember(): void {
    const held = this.#held.size === 0 ? {} : { held: [...this.#held] };
    const declared = this.#declared.size === 0 ? {} : { declared: Object.fromEntries(this.#declared) };
    const { planned, met } = this.#timetable;
    if (this.#definition.catchUp && planned.start !== undefined)
      this.#ports.lasting?.planStart(this.#definition, planned.start);
    const times = {
      planned,
      ...(Object.keys(met).length > 0 && { met }),
      ...(this.#missed && { missed: this.#missed }),
    };
    this.#ports.spawner.remember(
      this.id,
      snapshotOf({ blocked: this.#blocked, ...held, slots: this.#slots, ...times, ...declared }),
    );
  }
}

/** `web` is slot 1 of `web`, and `web:2` slot 2. */
function slotNumber({ id }: Slot): number {
  return Number(id.split(":")[1] ?? 1);
}
