/** Groups of processes: `group:NAME` stands for the members wherever an id is taken. No id has a colon. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { ProcessRecord } from "./records.ts";

const PREFIX = "group:";

/** The name of the group that the text stands for; undefined for an id. */
export function groupNamed(id: string): string | undefined {
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : undefined;
}

/** The text that stands for the members of the group. */
export function selectorOf(group: string): string {
  return `${PREFIX}${group}`;
}

/** Whether the id stands for several processes of which none is named: `all`, or a group. */
export function isCollective(id: string): boolean {
  return id === "all" || groupNamed(id) !== undefined;
}

/** The selectors of all groups of these processes, each once. */
export function selectorsIn(processes: readonly { readonly groups?: readonly string[] }[]): readonly string[] {
  return [...new Set(processes.flatMap(({ groups = [] }) => groups))].map(selectorOf);
}

/** The records whose groups include this one; clusters with all their instances. */
export function membersOfGroup(records: readonly ProcessRecord[], group: string): readonly ProcessRecord[] {
  return records.filter(({ groups = [] }) => groups.includes(group));
}

/** `known`: ids of processes, instances and clusters; `selectors`: those of the groups. */
export function unknownProcess(id: string, known: Iterable<string>, selectors: readonly string[]): ProcmanError {
  const shown = JSON.stringify(id.length > 80 ? `${id.slice(0, 80)}…` : id);
  const group = groupNamed(id);
  if (group !== undefined) {
    const hint =
      selectors.length === 0 ? ' "groups" of a process says in which groups it is.' : didYouMean(id, selectors);
    return new ProcmanError(
      "process-unknown",
      `Cannot find group ${JSON.stringify(group.slice(0, 80))}: no process is in it.${hint}`,
    );
  }
  const selector = selectorOf(id);
  const hint = selectors.includes(selector)
    ? ` Did you mean the group, ${JSON.stringify(selector)}?`
    : didYouMean(id, known);
  return new ProcmanError("process-unknown", `Cannot find process ${shown}: no process has this id.${hint}`);
}

/** Several processes were named where one is meant. */
export function notOne(what: string, why: string): ProcmanError {
  return new ProcmanError("input-invalid", `${what}: ${why}`, {
    faults: [{ place: "body.process", message: "must be the id of a process" }],
  });
}
