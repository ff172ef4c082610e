// Reads the programs' diary: whether two copies ran at the same time, and how each run ended.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {{ id: string, run: string, pid: number, managed: string, from: number, to?: number, code?: number, asked?: boolean,
 *   printed: number, longest?: number }} Run
 * @param {string} folder
 * @returns {{ runs: readonly Run[], findings: readonly string[] }}
 */
export function checkDiary(folder) {
  const runs = new Map();
  const findings = [];
  for (const note of notesIn(join(folder, "diary.jsonl"))) {
    const { what, id, run, pid, at, ...more } = note;
    if (what === "begin") runs.set(run, { id, run, pid, managed: more.managed, from: at, printed: 0 });
    else if (what === "twice") findings.push(`two copies: ${id} runs already, pid ${pid} is one more`);
    else if (what === "end") Object.assign(runs.get(run) ?? {}, { to: at, ...more });
  }
  for (const [run, printed] of progressIn(join(folder, "progress"))) {
    const found = runs.get(run);
    if (found !== undefined && found.to === undefined) found.printed = printed;
  }
  const all = [...runs.values()].sort((a, b) => a.from - b.from);
  return { runs: all, findings: [...findings, ...overlaps(all), ...repeated(all)] };
}

/** Overlapping runs: the guard notices a second copy only if both copies have reached it. */
function overlaps(runs) {
  const last = new Map();
  return runs.flatMap((run) => {
    const before = last.get(run.id);
    last.set(run.id, run);
    return before?.to !== undefined && before.to > run.from
      ? [`two copies: ${run.id} ${before.run} ended after ${run.run} began`]
      : [];
  });
}

/** Runs that procman started twice: their PROCMAN_RUN_ID is the same. */
function repeated(runs) {
  const seen = new Map();
  return runs.flatMap((run) => {
    if (run.managed === "") return [];
    const before = seen.get(run.managed);
    seen.set(run.managed, run);
    return before === undefined ? [] : [`started twice: ${run.managed} as pid ${before.pid} and as pid ${run.pid}`];
  });
}

function notesIn(path) {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function progressIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).map((run) => [run, Number(readFileSync(join(folder, run), "utf8"))]);
}
