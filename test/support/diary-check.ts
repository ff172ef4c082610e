/** Reads the diary that programs write with `test/programs/run-diary.mjs`: whether two copies ran at once, and how each run ended. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `managed`: its PROCMAN_RUN_ID. `to` and `code` are absent if it was killed. `printed`: at least so many numbered lines. Times are monotonic. */
export type Run = {
  readonly id: string;
  readonly run: string;
  readonly pid: number;
  readonly managed: string;
  readonly from: number;
  readonly printed: number;
  readonly to?: number;
  readonly code?: number;
  readonly asked?: boolean;
  readonly longest?: number;
};

type Note = {
  readonly what: string;
  readonly id: string;
  readonly run: string;
  readonly pid: number;
  readonly at: number;
};

export function checkDiary(folder: string): { readonly runs: readonly Run[]; readonly findings: readonly string[] } {
  const runs = new Map<string, Run>();
  const findings: string[] = [];
  const progress = progressIn(join(folder, "progress"));
  for (const { what, id, run, pid, at, ...more } of notesIn(join(folder, "diary.jsonl"))) {
    const known = runs.get(run);
    if (what === "begin")
      runs.set(run, { managed: "", ...more, id, run, pid, from: at, printed: progress.get(run) ?? 0 });
    else if (what === "twice") findings.push(`two copies: ${id} runs already, pid ${pid} is one more`);
    else if (what === "end" && known !== undefined) runs.set(run, { ...known, printed: 0, to: at, ...more });
  }
  const all = [...runs.values()].sort((a, b) => a.from - b.from);
  return { runs: all, findings: [...findings, ...overlaps(all), ...repeated(all)] };
}

/** Overlapping runs: the guard notices a second copy only if both copies have reached it. */
function overlaps(runs: readonly Run[]): readonly string[] {
  const last = new Map<string, Run>();
  return runs.flatMap((run) => {
    const before = last.get(run.id);
    last.set(run.id, run);
    return before?.to !== undefined && before.to > run.from
      ? [`two copies: ${run.id} ${before.run} ended after ${run.run} began`]
      : [];
  });
}

/** Runs that procman started twice: their PROCMAN_RUN_ID is the same. */
function repeated(runs: readonly Run[]): readonly string[] {
  const seen = new Map<string, Run>();
  return runs.flatMap((run) => {
    if (run.managed === "") return [];
    const before = seen.get(run.managed);
    seen.set(run.managed, run);
    return before === undefined ? [] : [`started twice: ${run.managed} as pid ${before.pid} and as pid ${run.pid}`];
  });
}

function notesIn(path: string): readonly Note[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Note);
}

/** By run: how many lines it had printed, whatever ended it. */
function progressIn(folder: string): ReadonlyMap<string, number> {
  const runs = existsSync(folder) ? readdirSync(folder) : [];
  return new Map(runs.map((run) => [run, Number(readFileSync(join(folder, run), "utf8"))]));
}
