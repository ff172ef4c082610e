/** Command lines of systemd: words, variables, and prefixes. */
import { type ForeignText, type Reference, shellWord, variable } from "./foreign-text.ts";
import type { SystemdUnit } from "./service-unit.ts";
import { unitWords } from "./unit-file.ts";

/** `ExecStart=` and the hooks around it. undefined: there is none. */
export function serviceLine(unit: SystemdUnit): string | undefined {
  const starts = unit.all("ExecStart").map((line) => commandOf(line, unit, "ExecStart"));
  const before = [...unit.all("ExecCondition"), ...unit.all("ExecStartPre")].map((line) => commandOf(line, unit, "ExecStartPre"));
  if (before.length > 0) unit.draft.merge("hooks", { beforeStart: before.join(" && ") });
  const after = unit.all("ExecStopPost").map((line) => commandOf(line, unit, "ExecStopPost"));
  if (after.length > 0) unit.draft.merge("hooks", { afterStop: after.join("; ") });
  const reload = unit.one("ExecReload");
  const [, kill = ""] = /^.*?\bkill\b(.*)/s.exec(reload ?? "") ?? [];
  const signal = /\$\{?MAINPID/.test(kill) ? /\s-(?:s\s*)?(?:SIG)?(HUP|USR1|USR2|WINCH)\b/.exec(kill)?.[1] : undefined;
  if (signal !== undefined) unit.draft.set("reloadSignal", `SIG${signal}`);
  else if (reload !== undefined) unit.draft.note("ExecReload", 'procman reloads a program by a signal: "reloadSignal"');
  return starts.length === 0 ? undefined : starts.join(" && ");
}

function commandOf(line: string, { draft }: SystemdUnit, directive: string): string {
  const [, prefix = "", rest = ""] = /^([-@:+!|]*)\s*([\s\S]*)$/.exec(line) ?? [];
  const [first = "", ...words] = unitWords(rest);
  // With @ the second word is the name that the program sees of itself.
  const args = prefix.includes("@") ? words.slice(1) : words;
  if (/[+!]/.test(prefix)) draft.note(directive, `${prefix} gives ${first} other rights than the rest: procman runs all of it as "user"`);
  const expand = prefix.includes(":") ? (word: string): ForeignText => [word] : references;
  const command = [shellWord([first]), ...args.map((word) => argument(word, expand))].join(" ");
  return prefix.includes("-") ? `{ ${command} || true; }` : command;
}

/** A variable alone is split at its blanks, as by the shell. */
function argument(word: string, expand: (word: string) => ForeignText): string {
  const [, alone] = /^\$([A-Za-z_]\w*)$/.exec(word) ?? [];
  return alone === undefined ? shellWord(expand(word)) : word;
}

function references(word: string): ForeignText {
  const pieces: (string | Reference)[] = [];
  let end = 0;
  for (const { 0: whole, 1: name, index } of word.matchAll(/\$\$|\$\{([A-Za-z_]\w*)\}/g)) {
    pieces.push(word.slice(end, index), name === undefined ? "$" : variable(name));
    end = index + whole.length;
  }
  return [...pieces, word.slice(end)].filter((piece) => piece !== "");
}
