/** What an action will do, in words, before it is done. */
import type { Action } from "../../../core/contract/control.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hasCurrentRun, isMixed, isRunning, isStoppable } from "../../../core/contract/status-sets.ts";
import { dependentsOf, leavesOf } from "./record-lists.ts";

export type ActionName = Action | "hard-restart" | "scale";

export type ActionWords = {
  /** Text of the button. */
  readonly label: string;
  /** Asked before. */
  readonly question: string;
  /** One sentence each. */
  readonly effects: readonly string[];
  /** Whether the action interrupts what runs, so that it needs a confirmation. */
  readonly interrupts: boolean;
};

/** The actions that make sense for the process now, the most likely first. */
export function actionsFor(record: ProcessRecord): readonly ActionName[] {
  const { blocked, disabled, type } = record;
  const runs = hasCurrentRun(record);
  return [
    ...(blocked || (runs && !isMixed(record)) ? [] : (["start"] as const)),
    ...(isStoppable(record) ? (["stop"] as const) : []),
    ...(blocked || !runs ? [] : (["restart"] as const)),
    ...(type === "cluster" && runs ? (["hard-restart"] as const) : []),
    ...(type === "cluster" ? (["scale"] as const) : []),
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
};

export function labelOf(action: ActionName): string {
  return LABELS[action];
}

/** `records`: all processes. */
export function wordsFor(action: ActionName, record: ProcessRecord, records: readonly ProcessRecord[]): ActionWords {
  const { id } = record;
  const running = leavesOf([record]).filter(isRunning).length;
  const effects = [...ownEffects(action, record, running), ...dependentEffects(action, id, records)];
  const interrupts = ["stop", "restart", "hard-restart", "scale"].includes(action);
  return { label: labelOf(action), question: `${labelOf(action)}: ${id}?`, effects, interrupts };
}

function ownEffects(action: ActionName, { type, instances = [] }: ProcessRecord, running: number): readonly string[] {
  const isCluster = type === "cluster";
  const effects: Readonly<Record<ActionName, readonly string[]>> = {
    start: ["It starts at once, also if its policy or schedule wouldn't start it now."],
    stop: [
      isCluster
        ? `${count(running, "instance")} will be stopped; clients find nobody.`
        : "The program is asked to end, and killed if it doesn't.",
      "It stays stopped until it is started, or its schedule comes.",
    ],
    restart: [
      isCluster
        ? `${count(instances.length, "instance")} will be restarted one after another, each once the one before is up; clients are served meanwhile.`
        : "The program ends and starts again; what it is doing is interrupted.",
    ],
    "hard-restart": [
      `${count(instances.length, "instance")} will be restarted at the same time; clients are interrupted.`,
    ],
    block: ["Neither policy, schedule nor a start will start it. What runs keeps running."],
    unblock: ["Policy, schedule and requests may start it again."],
    enable: ["It will start by itself again: with procman, by schedule, and when watched files change."],
    disable: ["From now on it starts only by request. What runs keeps running."],
    scale: [
      `It has ${count(instances.length, "instance")} now. Removed ones are stopped, new ones are started; the others keep running.`,
    ],
  };
  return effects[action];
}

function dependentEffects(action: ActionName, id: string, records: readonly ProcessRecord[]): readonly string[] {
  const dependents = dependentsOf(id, records).map((each) => each.id);
  if (dependents.length === 0 || !["stop", "restart", "hard-restart"].includes(action)) return [];
  const names =
    dependents.length > 5
      ? `${dependents.slice(0, 5).join(", ")} and ${dependents.length - 5} more`
      : dependents.join(", ");
  return [`${dependents.length === 1 ? "This process depends" : "These processes depend"} on it: ${names}.`];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
