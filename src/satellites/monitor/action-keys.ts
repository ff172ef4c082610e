/** The keys that act on the selected process: what they do, and what is asked before. */
import type { Action } from "../../core/contract/control.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { MonitorEffect, Question } from "./monitor-model.ts";

/** What a key does: at once, after a question, or not at all, with the reason. */
export type KeyedAction =
  | { readonly effect: MonitorEffect }
  | { readonly question: Question }
  | { readonly refusal: string };

export const ACTION_KEYS = ["s", "x", "r", "R", "b", "d", "+", "-"] as const;

export type ActionKey = (typeof ACTION_KEYS)[number];

export function isActionKey(text: string): text is ActionKey {
  return ACTION_KEYS.some((key) => key === text);
}

export function keyedAction(key: ActionKey, record: ProcessRecord): KeyedAction {
  const { id, blocked, disabled } = record;
  switch (key) {
    case "s":
      return { effect: act(id, "start") };
    case "x":
      return { question: { text: `Stop ${subject(record)}?`, effect: act(id, "stop") } };
    case "r":
      return { question: { text: `Restart ${subject(record)}${oneByOne(record)}?`, effect: act(id, "restart") } };
    case "R":
      return { question: { text: `Restart ${subject(record)}${atOnce(record)}?`, effect: act(id, "restart", true) } };
    case "b":
      if (blocked) return { effect: act(id, "unblock") };
      return { question: { text: `Block ${subject(record)}? Nothing starts it then.`, effect: act(id, "block") } };
    case "d":
      if (disabled) return { effect: act(id, "enable") };
      return {
        question: { text: `Disable ${subject(record)}? It then starts only by hand.`, effect: act(id, "disable") },
      };
    case "+":
    case "-":
      return scaling(record, key === "+" ? 1 : -1);
  }
}

function scaling(record: ProcessRecord, by: 1 | -1): KeyedAction {
  const { instances } = record;
  const id = record.cluster ?? record.id;
  if (instances === undefined && record.cluster === undefined)
    return { refusal: `Cannot scale ${id}: it is not a cluster` };
  if (instances === undefined)
    return { refusal: `Cannot scale ${record.id}: it is an instance; select its cluster ${id}` };
  const count = instances.length + by;
  if (count < 1) return { refusal: `Cannot scale ${id} to 0 instances: stop it instead` };
  const what = by > 0 ? "one more" : "its last one ends";
  return {
    question: {
      text: `Scale ${id} to ${count} instance${count === 1 ? "" : "s"} (${what})?`,
      effect: { type: "scale", id, by },
    },
  };
}

function act(id: string, action: Action, hard = false): MonitorEffect {
  return { type: "act", id, action, hard };
}

function subject({ id, instances }: ProcessRecord): string {
  return instances === undefined ? id : `${id} (${instances.length} instance${instances.length === 1 ? "" : "s"})`;
}

function oneByOne({ instances = [] }: ProcessRecord): string {
  return instances.length > 1 ? ", one after another" : "";
}

function atOnce({ instances = [] }: ProcessRecord): string {
  return instances.length > 1 ? ", all at once" : "";
}
