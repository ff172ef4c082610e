/** The end of a life of a campaign: everything is ended, and what was lost, doubled, damaged or left behind is found. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LogEntry } from "../../../src/core/contract/records.ts";
import type { Incident } from "../../../src/core/contract/run-summary.ts";
import { checkDiary, type Run } from "../../support/diary-check.ts";
import {
  checkLogs,
  decisions,
  type Ends,
  exits,
  files,
  type Kill,
  type Notes,
  numbering,
  repeatedSeconds,
  restarts,
  unseenStarts,
} from "../../support/fault-verdict.ts";
import type { KillableProcman } from "../../support/killable-procman.ts";
import type { Campaign } from "./campaign.ts";
import { CRASHERS, JOB, LINES, NEEDS, STORED } from "./campaign-load.ts";
import { command } from "./campaign-operator.ts";

/** Instances that are removed and added again have run numbers from 1 again. */
const LASTING = /^(?!profiled|(?:web|share|pool|sized)-[2-9])/;
/** From the spawn of a run until it has written its first note, on a busy machine. Milliseconds. */
const BIRTH_MS = 5_000;
/** On a slow disk the records of the keeper, and what it has to tell, wait for each other. Milliseconds. */
const SLOW_MS = 3_000;
/** Of a character that a killed logger has cut. */
const CUT = "\uFFFD";
/** Beginning of a file with what the log store has. */
const STORE = "stored-";
const STEP_MS = 300;
const MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";

export type JournalRecords = {
  readonly ends: Ends;
  readonly runs: KillableProcman["journal"]["runs"];
  readonly notes: Notes;
};

/** What the journal has said so far. */
export function recordsOf({ journal }: KillableProcman): JournalRecords {
  journal.read();
  return { ends: new Map(journal.ends), runs: new Map(journal.runs), notes: new Map(journal.notes) };
}

export async function judge(campaign: Campaign): Promise<void> {
  const { procman, places, account, slowTimes, cut } = campaign;
  const left = await procman.end();
  await readStore(campaign);
  const { folder } = places;
  const diary = checkDiary(folder);
  const { ends, runs: started, notes } = cut ?? recordsOf(procman);
  const kills = [...campaign.kills, ...slowed(campaign.kills, slowTimes)];
  const runs = diary.runs.filter(({ id }) => LASTING.test(id));
  // What an end that was cut off has begun to end is not in its records.
  const known =
    cut === undefined ? runs : runs.filter((run) => (run.to ?? Number.POSITIVE_INFINITY) < cut.at - BIRTH_MS);
  const logs = checkLogs(diary.runs, {
    ...{ kills, ends, ids: [...Object.keys(LINES), ...STORED.map((id) => STORE + id)] },
    pathOf: (id) => join(folder, "logs", `${id}.log`),
    writersOf: (id) => LINES[id] ?? [id.slice(STORE.length)],
  });
  const findings = {
    diary: diary.findings.filter((finding) => LASTING.test(finding.split(" ")[2] ?? "")),
    lines: logs.findings,
    exits: [...exits(known, ends, kills), ...unseenStarts(ends, kills)],
    numbers: cut === undefined ? numbering(started, ends) : [],
    schedule: repeatedSeconds(JOB, known, notes),
    restarts: cut === undefined ? CRASHERS.flatMap((id) => restarts(id, notes)) : [],
    decisions: CRASHERS.flatMap((id) => decisions(id, known, { notes, ends })),
    incidents: incidents(
      campaign.incidents.filter(({ time }) => time >= campaign.began && time < (cut?.time ?? "9")),
      known,
    ),
    dependencies: Object.entries(NEEDS).flatMap(([id, needs]) =>
      needs.flatMap((other) => unmet(folder, diary.runs, [id, other])),
    ),
    values: values(folder, campaign),
    hooks: hooks(folder, diary.runs),
    input: campaign.typed.verdict(folder, diary.runs),
    console: texts(campaign),
    left: [...left.map(({ command }) => `left behind: ${command}`), ...files(folder, procman.stateDir)],
  };
  for (const [kind, found] of Object.entries(findings)) for (const finding of found) account.find(kind, finding);
  for (const [what, count] of Object.entries({ ...logs, runs: diary.runs.length, ends: ends.size }))
    if (typeof count === "number") account.count(what, count);
}

/** What a keeper was about to note on a slow disk when it was killed: as if it had been killed from then on. */
function slowed(kills: readonly Kill[], times: Campaign["slowTimes"]): readonly Kill[] {
  const late = kills.filter(({ at }) => times.some(({ from, to }) => at > from && at < to + SLOW_MS));
  return late.flatMap((kill) =>
    Array.from({ length: SLOW_MS / STEP_MS }, (_, index) => ({ ...kill, at: kill.at - (index + 1) * STEP_MS })),
  );
}

/** Each end of a run has one incident, with its code. */
function incidents(found: readonly Incident[], runs: readonly Run[]): readonly string[] {
  const byRun = new Map<string, string>();
  const own = found.filter(({ process }) => LASTING.test(process) && process !== "overrun");
  const doubled = own.flatMap((incident) => {
    const [key, text] = [`${incident.process}#${incident.run}`, textOf(incident)];
    const before = byRun.get(key);
    byRun.set(key, text);
    // The same one is seen at each rest.
    return before === undefined || before === text ? [] : [`two incidents for one end: ${before} and ${text}`];
  });
  const codes = new Map(
    runs
      .filter(({ to, asked }) => to !== undefined && asked !== true)
      .map(({ managed, code }) => [managed.replace(/\.(\d+)@.*$/, "#$1"), code]),
  );
  const wrong = own.filter(
    ({ process, run, code }) =>
      code !== undefined && codes.has(`${process}#${run}`) && codes.get(`${process}#${run}`) !== code,
  );
  return [
    ...doubled,
    ...wrong.map(
      (each) =>
        `wrong code: ${JSON.stringify(each)}, the program ended with ${codes.get(`${each.process}#${each.run}`)}`,
    ),
  ];
}

function textOf({ lines: _lines, metrics: _metrics, ...incident }: Incident): string {
  return JSON.stringify(incident);
}

type Note = {
  readonly what: string;
  readonly id: string;
  readonly run: string;
  readonly at: number;
  readonly values?: Readonly<Record<string, string>>;
};

function notesIn(folder: string): readonly Note[] {
  const lines = readFileSync(join(folder, "diary.jsonl"), "utf8").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Note);
}

/** A run of the process begins only while one of the other is ready. */
function unmet(folder: string, runs: readonly Run[], [id, other]: readonly [string, string]): readonly string[] {
  const ready = new Map(
    notesIn(folder)
      .filter((note) => note.what === "ready" && note.id === other)
      .map(({ run, at }) => [run, at]),
  );
  const others = runs
    .filter((run) => run.id === other)
    .map(({ run, to }) => ({ from: ready.get(run) ?? Number.POSITIVE_INFINITY, to }));
  const own = runs.filter((run) => run.id === id);
  return own
    .filter(({ from }) => !others.some((each) => each.from < from && (each.to ?? from) > from - BIRTH_MS))
    .map(({ run }) => `${id} ${run} began without ${other}`);
}

/** Each run has the secrets, and the values that the env file had when it was started. */
function values(folder: string, { values: written }: Campaign): readonly string[] {
  const seen = notesIn(folder).filter(({ id, what }) => id === "variables" && what === "seen");
  return seen.flatMap(({ run, at, values: { SECRET, SECRET_FILE, FROM_FILE } = {} }) => {
    const index = written.findIndex(({ value }) => value === FROM_FILE);
    const [from, to] = [
      written[index]?.at ?? Number.POSITIVE_INFINITY,
      written[index + 1]?.at ?? Number.POSITIVE_INFINITY,
    ];
    const isRight = SECRET === "from a variable" && SECRET_FILE === "from a file" && from < at && to > at - BIRTH_MS;
    return isRight ? [] : [`variables ${run} has ${JSON.stringify({ SECRET, SECRET_FILE, FROM_FILE })}`];
  });
}

function hooks(folder: string, runs: readonly Run[]): readonly string[] {
  const before = existsSync(join(folder, "hooks"))
    ? readFileSync(join(folder, "hooks"), "utf8")
        .split("\n")
        .filter((line) => line === "before").length
    : 0;
  const begun = runs.filter(({ id }) => id === "hooked").length;
  return before >= begun ? [] : [`hooked: ${begun} runs after ${before} of beforeStart`];
}

/** With "format": "json" each line of the console is an object. */
function texts({ consoleFile }: Campaign): readonly string[] {
  const lines = existsSync(consoleFile) ? readFileSync(consoleFile, "utf8").split("\n").filter(Boolean) : [];
  // A second `procman run` says there that it is refused.
  const odd = lines.filter((line) => !line.startsWith("{") && !/already running/.test(line));
  return odd.length === 0
    ? []
    : [`console: ${odd.length} of ${lines.length} lines are text, the first: ${odd[0]?.slice(0, 200)}`];
}

/** The numbered lines of some processes in the log store, as a file. */
async function readStore(campaign: Campaign): Promise<void> {
  for (const id of STORED) {
    const { code, output } = await command(campaign, [
      "logs",
      id,
      "--json",
      "--category",
      "stdout,stderr,service",
      "--since",
      campaign.began,
    ]);
    if (code !== 0) campaign.account.find("store", `procman logs ${id} ended with ${code}: ${output.slice(-300)}`);
    const entries = output
      .split("\n")
      // Without what the command says, as of no matching entries.
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as LogEntry);
    const lines = entries.map(({ category, text }) => (category === "service" ? MARK : text.replaceAll(CUT, "")));
    writeFileSync(join(campaign.places.folder, "logs", `${STORE}${id}.log`), lines.map((line) => `${line}\n`).join(""));
  }
}
