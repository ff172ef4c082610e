/** After a soak: lines, ends of runs, and processes and files left behind. */
import { join } from "node:path";
import { checkDiary, type Run } from "../support/diary-check.ts";
import { checkLogs, exits, files } from "../support/fault-verdict.ts";
import type { SoakAccount } from "./soak-account.ts";
import type { Soak } from "./soak-actions.ts";
import { CRASHERS, FLOOD, STEADY } from "./soak-load.ts";

/** What ends while the disk is full is not recorded; nor is it just after, until the journal is written again. Milliseconds. */
const UNRECORDED_MS = 5_000;

export function findingsAtEnd(soak: Soak, left: readonly { readonly command: string }[]): readonly string[] {
  const { procman, account, places, kills } = soak;
  const { folder, disk } = places;
  const { runs, findings } = checkDiary(folder);
  const { ends } = procman.journal;
  const pathOf = (id: string): string =>
    id === "print-disk" ? join(disk, "print-disk.log") : join(folder, "logs", `${id}.log`);
  const logs = checkLogs(runs, { kills, ends, ids: [...STEADY, FLOOD, ...CRASHERS], pathOf });
  const recorded = runs.filter((run) =>
    account.isCalm(endingOf(run, runs) - UNRECORDED_MS, ["disk"], endingOf(run, runs) + UNRECORDED_MS),
  );
  for (const [what, count] of Object.entries({ ...logs, runs: runs.length, ends: ends.size }))
    if (typeof count === "number") account.count(what, count);
  return [
    ...findings,
    ...logs.findings,
    ...exits(recorded, ends, kills),
    ...CRASHERS.flatMap((id) => missingRuns(id, runs, account)),
    ...left.map(({ command }) => `left behind: ${command}`),
    ...files(folder, procman.stateDir),
  ];
}

/** When it ended; of a run that was killed: at the latest when the next one of its process began. */
function endingOf(run: Run, runs: readonly Run[]): number {
  return run.to ?? runs.find(({ id, from }) => id === run.id && from > run.from)?.from ?? Number.POSITIVE_INFINITY;
}

/** The runs of a process that only its policy starts are numbered without gaps, unless procman was killed before the run's first deed. */
function missingRuns(id: string, runs: readonly Run[], account: SoakAccount): readonly string[] {
  const own = runs.filter((run) => run.id === id);
  const numbered = own
    .map((run) => ({ number: Number(/\.(\d+)@/.exec(run.managed)?.[1]), from: run.from }))
    .sort((a, b) => a.number - b.number);
  return numbered.flatMap(({ number, from }, index) => {
    const before = numbered[index - 1];
    if (before === undefined || number === before.number + 1) return [];
    return account.isCalm(before.from, ["kill", "disk"], from)
      ? [`run numbers: ${id} has ${number} after ${before.number}`]
      : [];
  });
}
