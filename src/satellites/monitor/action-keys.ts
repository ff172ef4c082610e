/** The keys that act on the selected process: what they do, and what is asked before. */
import type { Action } from "../../core/contract/control.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { isRunning } from "../../core/contract/status-sets.ts";
import type { MonitorEffect, MonitorModel, Question } from "./monitor-model.ts";

/** What a key asks, or why it does nothing. Each asks: a command that was typed here by mistake changes nothing. */
export type KeyedAction = { readonly question: Question } | { readonly refusal: string };

export const ACTION_KEYS = ["s", "x", "r", "R", "b", "d", "+", "-"] as const;

export type ActionKey = (typeof ACTION_KEYS)[number];

export function isActionKey(text: string): text is ActionKey {
  return ACTION_KEYS.some((key) => key === text);
}

export function keyedAction(key: ActionKey, record: ProcessRecord): KeyedAction {
  const { id, blocked, disabled = false } = record;
  const ask = (text: string, effect: MonitorEffect): KeyedAction => ({ question: { text, effect } });
  const whom = subject(record);
  switch (key) {
    case "s":
      if (isAlone(record)) return { refusal: `Cannot start "${id}": it is already running` };
      return ask(`Start ${whom}?`, act(id, "start"));
    case "x":
      return ask(`Stop ${whom}?`, act(id, "stop"));
    case "r":
      return ask(`Restart ${whom}${oneByOne(record)}?`, act(id, "restart"));
    case "R":
      return ask(`Restart ${whom}${atOnce(record)}?`, act(id, "restart", true));
    case "b":
      if (blocked) return ask(`Unblock ${whom}? It may start again.`, act(id, "unblock"));
      return ask(`Block ${whom}? Nothing starts it then.`, act(id, "block"));
    case "d":
      if (disabled) return ask(`Enable ${whom}? It then starts by itself.`, act(id, "enable"));
      return ask(`Disable ${whom}? It then starts only by hand.`, act(id, "disable"));
    case "+":
    case "-":
      return scaling(record, key === "+" ? 1 : -1);
  }
}

/** Why nothing can be typed into it; undefined: it takes input. */
export function whyNoInput({ id, input, instances }: ProcessRecord): string | undefined {
  if (instances !== undefined) return `Cannot type into ${id}: it is a cluster; select an instance`;
  return input === true ? undefined : `Cannot type into ${id}: it takes no input; set "stdin": true for it`;
}

/** The end of procman and of everything that it runs. */
export function endOfAll({ name, records }: Pick<MonitorModel, "name" | "records">): Question {
  const running = records.flatMap((record) => record.instances ?? [record]).filter(({ pid }) => pid !== undefined);
  const what = running.length === 1 ? "1 running process" : `${running.length} running processes`;
  return { text: `Stop procman "${name}" and its ${what}?`, effect: { type: "terminate" } };
}

/** Whether the process runs, and no other run may begin meanwhile. */
function isAlone(record: ProcessRecord): boolean {
  return isRunning(record) && record.instances === undefined && record.runs === undefined;
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
