// Counts what was lost, from the programs' diary, the log files, and the records of the manager.
import { checkLog } from "./line-check.mjs";
import { CRASHERS, PRINTERS, STEADY } from "./load.mjs";
import { checkDiary } from "./run-check.mjs";

/** Duration of the effects of a killed logger. */
const AROUND_MS = 5_000;

/**
 * @param {{ folder: string, kills: readonly { part: string, at: number, died: readonly string[] }[], exits: readonly { id: string, code: number }[],
 *   left: readonly { pid: number, command: string }[] }} records
 */
export function account({ folder, kills, exits, left }) {
  const { runs, findings } = checkDiary(folder);
  const lines = PRINTERS.map((id) =>
    linesOf(
      folder,
      runs.filter((run) => run.id === id),
      kills,
    ),
  );
  const sum = (of) => lines.reduce((total, each) => total + of(each), 0);
  const steady = runs.filter(({ id }) => STEADY.includes(id));
  const copies = new Set(findings.filter((finding) => /^two copies.*runs already/.test(finding)));
  const crashes = runs.filter(({ id, to, asked }) => CRASHERS.includes(id) && to !== undefined && asked !== true);
  return {
    kills: kills.length,
    died: kills.reduce((total, { died }) => total + died.length, 0),
    restarts: steady.length - STEADY.length,
    copies: copies.size,
    lines: sum(({ lines: count }) => count),
    megabytes: Math.round(sum(({ bytes }) => bytes) / 1e6),
    missing: sum(({ counts }) => counts.missing),
    doubled: sum(({ counts }) => counts.doubled + counts.disorder),
    damaged: sum(({ counts }) => counts.damaged),
    marked: sum(({ excusedBytes }) => excusedBytes),
    exits: crashes.length,
    exitsLost: crashes.length - known(crashes, exits),
    left: left.length,
    findings: [
      ...findings,
      ...lines.flatMap((each) => each.findings),
      ...left.map(({ command }) => `left behind: ${command}`),
    ],
  };
}

function linesOf(folder, runs, kills) {
  const { id } = runs[0] ?? {};
  if (id === undefined) return checkLog(`${folder}/logs/none.log`, []);
  const known = runs.map((run) => {
    const loggerKills = kills.filter(
      ({ part, at }) =>
        /logger|everything/.test(part) && at > run.from - AROUND_MS && at < (run.to ?? Infinity) + AROUND_MS,
    );
    const isUnread = kills.some(
      ({ part, at }) => part === "everything" && run.to !== undefined && Math.abs(at - run.to) < AROUND_MS,
    );
    return { ...run, isCut: run.to === undefined, readersKilled: loggerKills.length, isUnread };
  });
  return checkLog(`${folder}/logs/${id}.log`, known);
}

/** Number of the crashes that the manager has recorded with their exit codes, in order. */
function known(crashes, exits) {
  let count = 0;
  for (const id of CRASHERS) {
    const recorded = exits.filter((exit) => exit.id === id).map(({ code }) => code);
    for (const { code } of crashes.filter((crash) => crash.id === id)) {
      const index = recorded.indexOf(code);
      if (index < 0) continue;
      recorded.splice(0, index + 1);
      count += 1;
    }
  }
  return count;
}
