/** What procman prints during a soak: each warning and error must be one that is expected, for a reason. */
import type { Disturbance, Window } from "./soak-account.ts";

/** `during`: only then, or shortly after. */
type Expected = { readonly text: RegExp; readonly because: string; readonly during?: readonly Disturbance[] };

/** How late after a disturbance its warnings come: lines that wait for the disk are retried for half a minute. Milliseconds. */
const LATE_MS = 45_000;
const EARLY_MS = 1_000;

const EXPECTED: readonly Expected[] = [
  { text: /No start policy: "flood" is only started manually/, because: "it is started by the operator" },
  { text: /^exited with code \d+ after/, because: "the crashers end with codes; a stopped printer ends with 0" },
  {
    text: /^exited with code \d+, but left processes behind; stopping them$/,
    because: "crash-family leaves one behind",
  },
  { text: /^exceeded its timeout of 7 s; stopping/, because: "`limited` has a timeout" },
  { text: /^was killed by SIG(?:TERM|KILL|SEGV) after/, because: "`limited` and the killed processes" },
  {
    text: /^Cannot (?:start|stop|restart) ".*": |refused: Cannot /,
    because: "the operator asks for what isn't possible at the moment",
  },
  { text: /not restarted: it is blocked$/, because: "the operator blocks processes whose configuration changes" },
  { text: /^watch: no file in watched is watched/, because: "the folder is empty until the first change" },
  { text: /^plugin plugin: .*it threw planned: /, because: "the plugin fails as planned", during: ["plugin"] },
  {
    text: /^plugin plugin: .*(?:does not answer|no answer|hang|respond)/,
    because: "the plugin hangs as planned",
    during: ["plugin"],
  },
  {
    text: /^plugin plugin: .*procman's service has ended within a minute/,
    because: "the service was killed",
    during: ["kill", "upgrade"],
  },
  { text: /^the (?:service|logger|balancer) ended \(SIGKILL\)/, because: "it was killed", during: ["kill"] },
  // Said at the end of that run, however long after the kill.
  {
    text: /^ended, exit code unknown \(procman was killed during the run\)/,
    because: "the keeper was killed",
  },
  {
    text: /^was being started when procman was killed; whether it ran is unknown/,
    because: "all was killed amid a start",
  },
  {
    text: /^the keeper was killed; this one \(pid \d+\) replaces it and has adopted/,
    because: "it was killed",
    during: ["kill"],
  },
  {
    text: /^\d+ process(?:es)? that an earlier procman left running (?:is|are) adopted/,
    because: "all was killed, and procman is started again",
    during: ["kill"],
  },
  { text: /^the balancer ended; restarting it/, because: "it was killed after its keeper", during: ["kill"] },
  {
    text: /^not started by its schedule .* while procman was not running$/,
    because: "procman was killed",
    during: ["kill", "upgrade"],
  },
  {
    text: /^upgrade: (?:service|logger|balancer) \S+ → \S+, in \d+ ms$/,
    because: "it was upgraded",
    during: ["upgrade"],
  },
  { text: /ENOSPC|no space left on device/, because: "the disk is full", during: ["disk"] },
  { text: /can be written again/, because: "the disk has room again", during: ["disk"] },
];

/** Lines of another shape: the output of a command, and Node's warnings about the probe. */
const EXPECTED_LINES: readonly Expected[] = [
  {
    text: /ExperimentalWarning: v8\.queryObjects\(\)|^\(Use `node --trace-warnings/,
    because: "the probe counts timers by it",
  },
  {
    text: /^(?:service|logger|balancer|keeper) +\S+ +(?:→ \S+ +replaced in \d+ ms|stays)$/,
    because: "the output of `procman upgrade`",
  },
];

type Line = {
  readonly time: string;
  readonly severity: string;
  readonly category: string;
  readonly process?: string;
  readonly text: string;
};

const SEVERE = ["warn", "error"];
/** Findings of one text, without its numbers, that are listed. */
const ENOUGH = 3;

/** `output`: lines of JSON, and a few others. `disturbances`: by the wall clock. */
export function unexpectedIn(output: string, disturbances: readonly Window[]): readonly string[] {
  const seen = new Map<string, number>();
  return output.split("\n").flatMap((line) => {
    if (line === "" || isExpected(line, disturbances)) return [];
    const shape = line.replaceAll(/"time":"[^"]*"|\d+/g, "");
    const count = (seen.get(shape) ?? 0) + 1;
    seen.set(shape, count);
    return count > ENOUGH ? [] : [`unexpected output: ${line.slice(0, 500)}`];
  });
}

function isExpected(line: string, disturbances: readonly Window[]): boolean {
  const entry = entryOf(line);
  if (entry === undefined) return EXPECTED_LINES.some(({ text }) => text.test(line));
  if (!SEVERE.includes(entry.severity)) return true;
  const at = Date.parse(entry.time);
  const wasDisturbed = (kinds: readonly Disturbance[]): boolean =>
    disturbances.some(({ kind, from, to }) => kinds.includes(kind) && from - EARLY_MS <= at && at <= to + LATE_MS);
  return EXPECTED.some(({ text, during }) => text.test(entry.text) && (during === undefined || wasDisturbed(during)));
}

function entryOf(line: string): Line | undefined {
  try {
    return JSON.parse(line) as Line;
  } catch {
    return undefined;
  }
}
