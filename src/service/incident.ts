/** What the end of a run was: its cause and what follows, told from the transition that ended it. */
import type { Incident } from "../contract/records.ts";
import { isSuccess } from "../supervisor/outcome.ts";
import type { Transition } from "../supervisor/slot.ts";
import type { Ending, Instance } from "../supervisor/states.ts";
import { describeEnd, duration, faultText, isUnwanted, ofLimit, type Subject, UNWANTED, usedUp, whyNot } from "./narrator.ts";
import { processOf } from "./specs.ts";
import { wall } from "./wall.ts";

/** What the transition doesn't say. */
export type Circumstances = {
  readonly subject: Subject;
  /** Why everything is being stopped; absent: it is not. */
  readonly terminating?: string | undefined;
  /** Who has asked for it last: a consumer, or what else it was. */
  readonly asked?: Asked;
  /** Whether the kernel has just killed somebody for want of memory. */
  readonly claimOomKill: () => boolean;
};

export type Asked = { readonly by?: string; readonly why?: string };

/** SIGKILL, as a shell says it. */
const KILLED_CODE = 137;

type Ended = Instance & { readonly status: "starting" | "running" | "stopping" };

/** How its run has ended; undefined: it has not. */
export function endOf({ from, to, input }: Transition): Ending | undefined {
  if (!hasChild(from) || (hasChild(to) && to.run === from.run)) return undefined;
  return input.type === "ended" ? input.ending : "ending" in from ? from.ending : undefined;
}

export function incidentOf(transition: Transition, ending: Ending, circumstances: Circumstances): Omit<Incident, "metrics"> {
  const { slot, input } = transition;
  const from = transition.from as Ended;
  const cause = causeOf(from, ending, circumstances);
  const { by } = cause === "operator" ? (circumstances.asked ?? {}) : {};
  const started = from.status === "running" ? from.since : from.status === "stopping" && "started" in from ? from.started : undefined;
  return {
    time: wall(input.at),
    process: processOf(slot),
    run: from.run,
    cause,
    reason: reasonOf(cause, describeEnd(from, ending, input.at), circumstances),
    ...(ending.kind === "exited" && ending.code !== null ? { code: ending.code } : {}),
    ...(ending.kind === "exited" && ending.signal !== null ? { signal: ending.signal } : {}),
    ...("pid" in from ? { pid: from.pid } : {}),
    ...(started === undefined ? {} : { started: wall(started) }),
    ...(by === undefined ? {} : { by }),
    decision: decisionOf(transition, ending, circumstances.subject),
    lines: [],
  };
}

function causeOf(from: Ended, ending: Ending, { terminating, asked, claimOomKill }: Circumstances): Incident["cause"] {
  if (ending.kind === "unstartable") return "unstartable";
  if (from.status === "stopping" && from.cause === "operator")
    return terminating !== undefined && asked === undefined ? "shutdown" : "operator";
  if (from.status === "stopping" && from.cause !== "itself") return from.cause;
  if (isStarved(ending, claimOomKill)) return "out-of-memory";
  if (ending.kind === "unknown") return "unknown";
  return ending.signal === null ? "exit" : "signal";
}

/** Told by its own cgroup, or else counted somewhere. One that is told is counted, too, and no later end shall claim it. */
function isStarved(ending: Ending & { readonly kind: "exited" | "unknown" }, claimOomKill: () => boolean): boolean {
  if (ending.kind === "unknown") return ending.outOfMemory === true;
  const isKilled = ending.signal === "SIGKILL" || ending.code === KILLED_CODE;
  return isKilled && (claimOomKill() || ending.outOfMemory === true);
}

function reasonOf(cause: Incident["cause"], end: string, { subject, asked, terminating }: Circumstances): string {
  switch (cause) {
    case "exit":
    case "unstartable":
    case "unknown":
      return end;
    case "watch":
      return `was restarted ${asked?.why === undefined ? "for a changed file" : `as ${asked.why}`}; it ${end}`;
    case "signal":
      return `${end}, which was not procman's`;
    case "out-of-memory":
      return `${end}: the kernel killed it, as memory ran out`;
    case "timeout":
    case "unready":
    case "unhealthy":
    case "memory":
      return `was stopped, as it ${faultText(cause, subject)}; it ${end}`;
    case "terminate":
      return `was stopped by its schedule; it ${end}`;
    case "shutdown":
      return `was stopped with procman (${terminating}); it ${end}`;
    case "operator":
      return `was stopped${asked?.by === undefined ? (asked?.why === undefined ? "" : ` (${asked.why})`) : ` by ${asked.by}`}; it ${end}`;
    default:
      return cause satisfies never;
  }
}

function decisionOf({ from, to, input }: Transition, ending: Ending, { policy, blocked }: Subject): string {
  switch (to.status) {
    case "backoff":
      return `restart ${to.restarts + 1}${ofLimit(policy)} in ${duration(Math.max(0, to.until - input.at))}`;
    case "starting":
      return isAskedFor(from) || to.restarts === 0 ? "starts again at once" : `restart ${to.restarts}${ofLimit(policy)} at once`;
    case "waiting":
      return "starts again when what it depends on is there";
    case "idle":
      return `none: ${whyIdle(to, ending, { policy, blocked })}`;
    case "stopping":
      return isUnwanted(to, from) ? UNWANTED : "none";
    case "running":
      return "none";
    default:
      return to satisfies never;
  }
}

function whyIdle({ outcome }: Instance & { readonly status: "idle" }, ending: Ending, { policy, blocked }: Subject): string {
  if (outcome.kind === "exhausted") return usedUp(policy);
  if (outcome.kind === "failed") return whyNot(ending, policy, blocked);
  return outcome.kind === "finished" || isSuccess(ending) ? "it has finished" : "it was stopped";
}

function isAskedFor(from: Instance): boolean {
  return from.status === "stopping" && from.next === "start";
}

function hasChild(state: Instance): state is Ended {
  return state.status === "starting" || state.status === "running" || state.status === "stopping";
}
