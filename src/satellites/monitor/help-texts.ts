/** What the keys do, for the help line and the page of help. */
import type { Mode } from "./monitor-model.ts";

const LINES: Readonly<Record<Mode["name"], string>> = {
  list: "q quit  ? help  Enter detail  s start  x stop  r restart  f filter  / search",
  input: "Enter keep  Escape undo  Ctrl-U empty",
  confirm: "y yes  any other key: no",
  help: "any key: back",
  detail: "Escape back  ↑ ↓ PgUp PgDn scroll  s start  x stop  r restart",
};

export function helpLine({ name }: Pick<Mode, "name">): string {
  return LINES[name];
}

export const HELP: readonly (readonly [keys: string, text: string])[] = [
  ["↑ ↓ PgUp PgDn", "select a process; also j k, Home End, g G"],
  ["Enter", "its state explained, its curves, how its runs ended"],
  ["s x r R", "start, stop, restart, restart all instances at once"],
  ["b d", "block and unblock, disable and enable"],
  ["+ -", "one instance of a cluster more, or fewer"],
  ["f", "show only ids, states or groups with a text (group:backend)"],
  ["o O", "sort by state, CPU, memory, restarts, id; reversed"],
  ["Tab", "to the log and back: the keys of the first row scroll it"],
  ["/ n N", "look for a text in the log; next older and newer hit"],
  ["← →", "long lines: more to the left, more to the right"],
  ["l", "log on and off"],
  ["Escape", "back, one thing after the other"],
  ["Ctrl-L", "draw the screen again"],
  ["Ctrl-Z", "suspend; fg continues"],
  ["q Ctrl-C", "quit; the processes keep running"],
];
