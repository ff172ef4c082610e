/** What the keys do, for the help line and the page of help. */
import type { Mode } from "./monitor-model.ts";

const GAP = "  ";

const LINES: Readonly<Record<Mode["name"], string>> = {
  list: "q quit  ? help  Enter detail  a all logs  s start  x stop  r restart  i type  f filter  / search",
  input: "Enter keep  Escape undo  Ctrl-U clear",
  send: "Enter send  Escape back  ↑ last line  Ctrl-U clear",
  confirm: "y yes  any other key: no",
  help: "any key: back",
  detail: "Escape back  ↑ ↓ PgUp PgDn scroll  s start  x stop  r restart",
};

/** As many keys as there is room for. */
export function helpLine({ name }: Pick<Mode, "name">, room: number): string {
  const keys = LINES[name].split(GAP);
  while (keys.length > 1 && keys.join(GAP).length > room) keys.pop();
  return keys.join(GAP);
}

export const HELP: readonly (readonly [keys: string, text: string])[] = [
  ["↑ ↓ PgUp PgDn", "select a process; also j k, Home End, g G"],
  ["Enter", "its state explained, its curves, how its runs ended"],
  ["s x r R", "start, stop, restart, restart all instances at once; y confirms"],
  ["b d", "block and unblock, disable and enable"],
  ["i", 'type into it, if it has "stdin": true; Enter sends the line'],
  ["+ -", "one more instance of a cluster, or one fewer"],
  ["f", "filter by id, state or group (group:backend)"],
  ["o O", "sort: trouble first, file, state, CPU, memory, restarts, id; reversed"],
  ["bars", "the last 50 s; a full bar is the limit of the process, else the machine"],
  ["Tab", "to the log and back: the keys of the first row scroll it"],
  ["/ n N", "search the log; next older and newer match"],
  ["← →", "long lines: more to the left, more to the right"],
  ["a", "log of all processes, or of the selected one"],
  ["l", "show or hide the log"],
  ["Escape", "back, one step at a time"],
  ["Ctrl-L", "redraw the screen"],
  ["Ctrl-Z", "suspend; fg continues"],
  ["Q", "stop procman with all its processes, after y"],
  ["q Ctrl-C", "quit; the processes keep running"],
];
