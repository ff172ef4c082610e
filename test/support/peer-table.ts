/** Tables of programs, one for each kind of configuration: how often each starts, and what it must see under both managers. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { procman } from "./cli.ts";
import { comparable, type PeerRig, type Seen } from "./peer-rig.ts";
import { ROOT } from "./product.ts";

export type PeerRow = {
  /** How often it starts until it runs, or isn't restarted any more. */
  readonly starts: number;
  /** Signals until it has ended. */
  readonly signals: number;
  /** It is restarted again and again: each start and each end is like the others. */
  readonly isEndless?: boolean;
  /** Its parent has left it behind, so each manager may end it as it likes. */
  readonly isLeft?: boolean;
  /** Milliseconds between two starts at least. */
  readonly gapMs?: number;
  /** It starts when this one has ended, which writes at its end. */
  readonly startsAfter?: string;
  /** Its signal to stop comes before that of this one. */
  readonly stopsBefore?: string;
  /** Milliseconds after the signal to stop, which it ignores. */
  readonly killedAfterMs?: number;
  /** Variables that differ. */
  readonly except?: readonly string[];
  /** It sees something else, as docs/guide/migrate.md says in these words. */
  readonly differs?: string;
};

export type PeerRows = Readonly<Record<string, PeerRow>>;

export function countsOf(rows: PeerRows, what: "starts" | "signals"): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(rows).flatMap(([name, row]) => (row[what] > 0 ? [[name, row[what]]] : [])));
}

/** Variables of shells, and those by which each manager names its processes or loads itself into them. */
const OWN = /^(_|SHLVL|PWD|OLDPWD|NODE_OPTIONS|PM2_\w+|PROCMAN_\w+|SUPERVISOR_\w+|WRITTEN_DOWN)$/;

/** How much longer a program may live, and be gone, on a busy machine. Milliseconds. */
const LATE_MS = 5_000;
const EARLY_MS = 200;

type ImportedTable = {
  readonly peer: string;
  /** What is imported. */
  readonly file: string;
  readonly rows: PeerRows;
  /** With which the peer was run. */
  readonly env: NodeJS.ProcessEnv;
  /** What of a file that both have written in `out` must be the same. Default: its text. */
  readonly partOf?: (text: string) => unknown;
};

/** After a run under the peer: imports its file and runs it; all programs have seen, and all files have, the same. */
export async function assertSameImported(
  rig: PeerRig,
  { peer, file, rows, env, partOf = (text) => text }: ImportedTable,
): Promise<void> {
  const ours = join(rig.folder, "out");
  const theirs = `${ours}-${peer}`;
  renameSync(ours, theirs);
  const { code, out, err } = await procman(rig.folder, ["import", file], env);
  assert.equal(code, 0, `${out}${err}`);
  await rig.underProcman(countsOf(rows, "starts"), countsOf(rows, "signals"), env);
  assertSameRows(rig, peer, rows, Object.keys(rig.environment(peer)).concat(Object.keys(env)));
  const filesIn = (folder: string): object =>
    Object.fromEntries(readdirSync(folder).map((name) => [name, partOf(readFileSync(join(folder, name), "utf8"))]));
  assert.deepEqual(filesIn(ours), filesIn(theirs));
}

/** What the programs saw. */
type PeerRecords = Pick<PeerRig, "seen" | "lived">;

/** Each program has seen the same. `shell`: names of the variables of the shell in which both managers were started. */
export function assertSameRows(rig: PeerRecords, peer: string, rows: PeerRows, shell: readonly string[]): void {
  const [here, there]: [Record<string, unknown>, Record<string, unknown>] = [{}, {}];
  for (const [name, row] of Object.entries(rows)) {
    const [ours, theirs] = [rig.seen("procman", name), rig.seen(peer, name)];
    const variables = differing({ ours, theirs, shell }, row);
    const [own, other] = [shown(ours, row, variables), shown(theirs, row, variables)];
    if (isDeepStrictEqual(own, other) === (row.differs === undefined)) continue;
    here[name] = own;
    there[name] = other;
  }
  assert.deepEqual(here, there, `under procman and ${peer}`);
  assert.deepEqual(Object.keys(here), [], "rows that no longer differ");
  assertDocumented(rows);
  for (const [name, row] of Object.entries(rows))
    for (const run of ["procman", peer]) {
      assertTimes(rig, run, name, row);
      assertOrder(rig, run, name, row);
    }
}

type Pair = { readonly ours: readonly Seen[]; readonly theirs: readonly Seen[]; readonly shell: readonly string[] };

/** The variables of the shell, and those that a program has under procman, whose values differ: a whole environment is hard to read. */
function differing({ ours, theirs, shell }: Pair, { except = [] }: PeerRow): readonly string[] {
  const names = new Set([...shell, ...ours.flatMap(({ env = {} }) => Object.keys(env))]);
  const valuesOf = (seen: readonly Seen[], name: string): string =>
    JSON.stringify([...new Set(seen.flatMap(({ env }) => (env === undefined ? [] : [env[name] ?? null])))].sort());
  return [...names]
    .filter((name) => !OWN.test(name) && !except.includes(name) && valuesOf(ours, name) !== valuesOf(theirs, name))
    .sort();
}

/** An endless one without signals may be stopped before it can take one. */
function shown(seen: readonly Seen[], row: PeerRow, variables: readonly string[]): readonly string[] {
  const starts = seen.filter(({ signal }) => signal === undefined);
  if (row.isLeft === true) return comparable(starts, variables);
  if (row.isEndless !== true) return comparable(seen, variables);
  return [...new Set(comparable(row.signals === 0 ? starts : seen, variables))];
}

function assertDocumented(rows: PeerRows): void {
  const page = readFileSync(join(ROOT, "docs/guide/migrate.md"), "utf8");
  for (const [name, { differs = "" }] of Object.entries(rows))
    assert.ok(page.includes(differs), `${name}: docs/guide/migrate.md has no row ${JSON.stringify(differs)}`);
}

function assertOrder(rig: PeerRecords, run: string, name: string, { startsAfter, stopsBefore }: PeerRow): void {
  const firstOf = (program: string, what: "args" | "signal"): number =>
    Math.min(...rig.seen(run, program).flatMap((seen) => (seen[what] === undefined ? [] : (seen.at ?? []))));
  if (startsAfter !== undefined)
    assert.ok(firstOf(name, "args") >= firstOf(startsAfter, "args"), `${name} under ${run} started too early`);
  if (stopsBefore !== undefined)
    assert.ok(firstOf(name, "signal") <= firstOf(stopsBefore, "signal"), `${name} under ${run} was stopped too late`);
}

function assertTimes(rig: PeerRecords, run: string, name: string, { gapMs, killedAfterMs }: PeerRow): void {
  const starts = rig.seen(run, name).flatMap(({ args, at }) => (args === undefined || at === undefined ? [] : [at]));
  const gaps = starts.slice(1).map((at, index) => at - (starts[index] ?? 0));
  if (gapMs !== undefined)
    assert.ok(
      gaps.every((gap) => gap >= gapMs - EARLY_MS && gap < gapMs + LATE_MS),
      `${name} under ${run} started again after ${gaps.join(", ")} ms`,
    );
  if (killedAfterMs === undefined) return;
  const lived = rig.lived(run, name);
  assert.ok(
    lived >= killedAfterMs - EARLY_MS && lived < killedAfterMs + LATE_MS,
    `${name} under ${run} was killed after ${lived} ms`,
  );
}
