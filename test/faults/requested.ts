/** What an operator has asked for and procman has answered with success: compared with each later record, whatever was killed. */
import type { Action } from "../../src/contract/control.ts";
import type { ProcessRecord } from "../../src/contract/records.ts";

const STOPPED = ["stopped", "created", "finished", "errored", "exhausted"];

/** undefined: either is right, as after a request without an answer. */
export class Requested {
  #blocked: boolean | undefined = false;
  #disabled: boolean | undefined = false;
  #isUp: boolean | undefined;
  /** Numbers of instances that are right: two while a request for another one is unanswered. */
  #instances: readonly number[] | undefined;
  /** Whether the profile is active: both are right while a request for another one is unanswered. undefined: not asked about. */
  #profile: readonly boolean[] | undefined;

  constructor(instances?: number) {
    this.#instances = instances === undefined ? undefined : [instances];
  }

  /** A request is sent: until its answer, its effect and that of the requests before are right. */
  asking(action: Action): void {
    if (action === "block" || action === "unblock") this.#blocked = undefined;
    if (isAboutDisabling(action)) this.#disabled = undefined;
    else this.#isUp = undefined;
  }

  /** `before`: what is right if the request was refused. */
  answered(action: Action, isAccepted: boolean, before: Requested): void {
    if (!isAccepted) return this.#restore(before);
    this.#blocked = { block: true, unblock: false }[action as string] ?? before.#blocked;
    this.#disabled = isAboutDisabling(action) ? action === "disable" : before.#disabled;
    if (isAboutDisabling(action)) this.#isUp = before.#isUp;
  }

  /** An accepted command was completed. */
  completed(action: Action): void {
    if (action === "start" || action === "restart") this.#isUp = true;
    if (action === "stop") this.#isUp = false;
  }

  askingFor(instances: number): void {
    this.#instances = [...(this.#instances ?? []), instances];
    this.#isUp = undefined;
  }

  has(instances: number): void {
    this.#instances = [instances];
  }

  askingForProfile(isActive: boolean): void {
    this.#profile = [...(this.#profile ?? []), isActive];
  }

  hasProfile(isActive: boolean): void {
    this.#profile = [isActive];
  }

  /** What the records contradict. `profiled`: the process that only the profile has. */
  profileContradiction(records: readonly ProcessRecord[], profiled: string): string | undefined {
    if (this.#profile === undefined || this.#profile.length > 1) return undefined;
    const record = records.find(({ id }) => id === profiled);
    // A removed process is shown until it has ended.
    const isRight = this.#profile[0] === true ? record !== undefined : record === undefined || record.status === "stopping";
    return isRight ? undefined : `the profile is ${this.#profile[0] ? "lost" : "active again"}`;
  }

  /** A new instance isn't blocked. */
  mayBeUnblocked(): void {
    this.#blocked = undefined;
  }

  copy(): Requested {
    const copy = new Requested();
    copy.#restore(this);
    return copy;
  }

  /** What a record contradicts. */
  contradictionOf({ status, blocked, disabled, instances }: ProcessRecord): string | undefined {
    if (this.#blocked !== undefined && blocked !== this.#blocked) return `blocked is ${blocked}`;
    if (this.#disabled !== undefined && (disabled === true) !== this.#disabled) return `disabled is ${disabled}`;
    if (this.#isUp === false && !STOPPED.includes(status)) return `it is ${status}, though it was stopped`;
    if (this.#isUp === true && this.#blocked === false && STOPPED.includes(status)) return `it is ${status}, though it was started`;
    if (this.#instances === undefined || instances === undefined) return undefined;
    const count = this.#countOf(instances);
    return this.#instances.includes(count) ? undefined : `it has ${count} instances instead of ${this.#instances.join(" or ")}`;
  }

  /** Of the numbers that are right, the one that the record shows. */
  agree({ instances = [] }: ProcessRecord): void {
    const count = this.#countOf(instances);
    if (this.#instances?.includes(count)) this.#instances = [count];
  }

  /** Those that are removed are shown until they have ended. */
  #countOf(instances: readonly ProcessRecord[]): number {
    return instances.filter((each, index) => each.status !== "stopping" || index < Math.max(...(this.#instances ?? []))).length;
  }

  #restore(other: Requested): void {
    this.#blocked = other.#blocked;
    this.#disabled = other.#disabled;
    this.#isUp = other.#isUp;
    this.#instances = other.#instances;
    this.#profile = other.#profile;
  }
}

/** They neither start nor stop it. */
function isAboutDisabling(action: Action): boolean {
  return action === "enable" || action === "disable";
}

/** Whether the record `now` shows the effect of a command that was answered with `after`. */
export function isDone(action: Action, after: ProcessRecord, now: ProcessRecord): boolean {
  if (now.instances !== undefined) {
    const earlier = new Map(after.instances?.map((each) => [each.id, each]));
    // Those that are blocked are not started.
    const concerned = now.instances.filter((each) => !/start/.test(action) || !each.blocked);
    return concerned.every((each) => isDone(action, earlier.get(each.id) ?? each, each));
  }
  const isUp = now.status === "running";
  switch (action) {
    case "start":
      return isUp;
    case "stop":
      return STOPPED.includes(now.status);
    case "restart":
      return isUp && (now.run ?? 0) >= (after.run ?? 0) + (after.status === "stopping" ? 1 : 0);
    case "block":
      return now.blocked;
    case "unblock":
      return !now.blocked;
    case "enable":
      return now.disabled === undefined;
    case "disable":
      return now.disabled === true;
    default:
      return action satisfies never;
  }
}
