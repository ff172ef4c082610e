/** What an action will do, in words, before it is done. */
import type { Action } from "../../../core/contract/control.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hasCurrentRun, isMixed, isRunning, isStoppable } from "../../../core/contract/status-sets.ts";
import { dependentsOf, leavesOf } from "./record-lists.ts";

export type ActionName = Action | "hard-restart" | "scale" | "signal";

export type ActionWords = {
  /** Text of the button. */
  readonly label: string;
  /** Asked before. */
  readonly question: string;
  /** One sentence each. */
  readonly effects: readonly string[];
  /** Whether the action interrupts what runs, so that it needs a confirmation, or asks for a value. */
  readonly interrupts: boolean;
};

/** The actions that make sense for the process now, the most likely first. */
export function actionsFor(record: ProcessRecord): readonly ActionName[] {
  const { blocked, disabled, type } = record;
  const runs = hasCurrentRun(record);
  const common = [
    ...(blocked || (runs && !isMixed(record)) ? [] : (["start"] as const)),
    ...(isStoppable(record) ? (["stop"] as const) : []),
    ...(blocked || !runs ? [] : (["restart"] as const)),
  ];
  if (type === "group") return [...common, ...(runs ? (["signal"] as const) : [])];
  return [
    ...common,
    ...(type === "cluster" && runs ? (["hard-restart"] as const) : []),
    ...(type === "cluster" ? (["scale"] as const) : []),
    ...(runs ? (["signal"] as const) : []),
    blocked ? "unblock" : "block",
    disabled ? "enable" : "disable",
  ];
}

const LABELS: Readonly<Record<ActionName, string>> = {
  start: "Start",
  stop: "Stop",
  restart: "Restart",
  "hard-restart": "Restart all at once",
  block: "Block",
  unblock: "Unblock",
  enable: "Enable",
  disable: "Disable",
  scale: "Scale",
  signal: "Send a signal",
};

const HINTS: Readonly<Partial<Record<ActionName, string>>> = {
  "hard-restart": "interrupts clients",
  block: "nothing starts it until you unblock it",
  unblock: "it may start again",
  enable: "it starts by itself again",
  disable: "it starts only by hand",
  scale: "change the number of instances",
};

export function labelOf(action: ActionName): string {
  return LABELS[action];
}

/** Tells actions with like names apart, in a few words. */
export function hintOf(action: ActionName): string | undefined {
  return HINTS[action];
}

/** @example nameOf({ id: "group:front" }) // "group front" */
export function nameOf({ id, type }: Pick<ProcessRecord, "id" | "type">): string {
  return type === "group" ? id.replace("group:", "group ") : id;
}

/** `records`: all processes. */
export function wordsFor(action: ActionName, record: ProcessRecord, records: readonly ProcessRecord[]): ActionWords {
  const running = leavesOf(record.instances ?? [record]).filter(isRunning).length;
  const effects = [...ownEffects(action, record, running), ...dependentEffects(action, record, records)];
  const interrupts = ["stop", "restart", "hard-restart", "scale", "signal"].includes(action);
  return { label: labelOf(action), question: `${labelOf(action)}: ${nameOf(record)}?`, effects, interrupts };
}

function ownEffects(action: ActionName, record: ProcessRecord, running: number): readonly string[] {
  if (record.type === "group") return groupEffects(action, record, running);
  const { type, instances = [] } = record;
  const isCluster = type === "cluster";
  const effects: Readonly<Record<ActionName, readonly string[]>> = {
    start: ["It starts at once, even if its policy or schedule wouldn't start it now."],
    stop: [
      isCluster
        ? `${countText(running, "instance")} will be stopped; clients get no answer.`
        : "The program is asked to exit, and killed if it doesn't.",
      "It stays stopped until it is started, or its schedule comes.",
    ],
    restart: [
      isCluster
        ? `${countText(instances.length, "instance")} will be restarted one after another, each once the one before is up; clients are served meanwhile.`
        : "The program ends and starts again; what it is doing is interrupted.",
    ],
    "hard-restart": [
      `${countText(instances.length, "instance")} will be restarted at the same time; clients are interrupted.`,
    ],
    block: ["Neither policy, schedule nor a start will start it. Running processes keep running."],
    unblock: ["Policy, schedule and requests may start it again."],
    enable: ["It will start by itself again: with procman, by schedule, and when watched files change."],
    disable: ["From now on it starts only by request. Running processes keep running."],
    scale: [
      `It has ${countText(instances.length, "instance")} now. Removed ones are stopped, new ones are started; the others keep running.`,
    ],
    signal: ["The program decides what the signal means; many signals end programs that don't handle them."],
  };
  return effects[action];
}

function groupEffects(action: ActionName, { instances = [] }: ProcessRecord, running: number): readonly string[] {
  const all = countText(instances.length, "process");
  if (action === "stop")
    return [`The group has ${all}; ${running === 1 ? "1 run" : `${running} runs`} will be stopped.`];
  if (action === "restart") return [`All of its ${all} are restarted, clusters one instance after another.`];
  return [`It goes to all of its ${all}.`];
}

function dependentEffects(
  action: ActionName,
  record: ProcessRecord,
  records: readonly ProcessRecord[],
): readonly string[] {
  if (!["stop", "restart", "hard-restart"].includes(action)) return [];
  const own = record.type === "group" ? (record.instances ?? []) : [record];
  return dependentsText(new Set(own.map(({ id }) => id)), records);
}

/** More names would hide the rest of a question. */
const FEW_DEPENDENTS = 5;

/** The sentence about what depends on these; none if nothing does. */
export function dependentsText(ids: ReadonlySet<string>, records: readonly ProcessRecord[]): readonly string[] {
  const dependents = dependentsOf(ids, records).map(({ id }) => id);
  if (dependents.length === 0) return [];
  const more = dependents.length - FEW_DEPENDENTS;
  const names = `${dependents.slice(0, FEW_DEPENDENTS).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const subject = dependents.length === 1 ? "This process depends" : "These processes depend";
  return [`${subject} on ${ids.size === 1 ? "it" : "them"}: ${names}.`];
}

export function countText(number: number, noun: "instance" | "process"): string {
  return `${number} ${noun}${number === 1 ? "" : noun === "process" ? "es" : "s"}`;
}
