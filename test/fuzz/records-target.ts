/**
 * Files that a killed procman leaves, with damage: journal, hand-over of a logger, endpoint, lock, incidents, metrics.
 * Reading throws nothing; what undamaged lines say is known; a service that begins from it starts no run a second time.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { resolveEndpoint } from "../../src/client/connection/endpoint-file.ts";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { IncidentLog } from "../../src/core/incidents/incident-log.ts";
import { type CaptureSpec, keyOf, type ToLogger } from "../../src/core/ipc/logger-protocol.ts";
import { Journal } from "../../src/core/keeper/journal.ts";
import { readHandover } from "../../src/core/keeper/logger-handover.ts";
import { Logger } from "../../src/core/logger/logger.ts";
import { blockOf, pointsIn, wholeBytes } from "../../src/core/metrics/series-file.ts";
import { takeLock } from "../../src/core/os/lock.ts";
import { processStat } from "../../src/core/os/process-stat.ts";
import { lastPort, publishEndpoint } from "../../src/core/os/published-endpoint.ts";
import { configOf, exited, run, spawned, startService, stateAfterKill } from "../support/service-rig.ts";
import { damagedSet, type FileSet, readSet, withFiles, writeSet } from "./file-set.ts";
import type { FuzzTarget } from "./fuzz-target.ts";

const IDS = ["alpha", "bravo", "charlie", "delta"];
const LOGGER_PID = 5_000_001;
const WORDS = [
  '"run"',
  '"slot":null',
  '{"t":"run","record":{}}',
  '{"t":"capture","key":"x","fifos":1,"capture":{}}',
  "null",
  "[]",
  "-1",
  "{}",
];
const CAPTURE: CaptureSpec = { id: "alpha", console: false, decorateFiles: false, store: { run: 1 } };

/** What ends with the case: the rigs take it for their test. */
class Case {
  readonly #calls: (() => unknown)[] = [];

  get context(): TestContext {
    return { after: (call: () => unknown) => this.#calls.push(call) } as unknown as TestContext;
  }

  async end(): Promise<void> {
    for (const call of this.#calls.splice(0)) await call();
  }
}

function configIn(folder: string) {
  return configOf(
    folder,
    IDS.map((id) => ({
      id,
      cmd: `run ${id}`,
      autostart: true,
      restart: "always",
      cluster: id === "delta" ? { instances: 2 } : undefined,
    })),
    { api: false },
  );
}

/** Of a procman whose parts were killed while all processes ran. */
async function wholeState(folder: string): Promise<FileSet> {
  const rig = new Case();
  const slots = ["alpha", "bravo", "charlie", "delta-1", "delta-2"];
  const { notes = {} } = await stateAfterKill(rig.context, configIn(folder), ...slots);
  await rig.end();
  const journal = new Journal(join(folder, "run/journal"), assert.fail);
  journal.add({ t: "logger", pid: LOGGER_PID, startTime: "1" });
  for (const slot of slots) {
    journal.add({ t: "capture", key: `${slot}#1`, fifos: 1, capture: { ...CAPTURE, id: slot } });
    const { captured: _, ...record } = run(slot);
    journal.add({ t: "run", record });
  }
  const { t: _, ...end } = exited("alpha", 7) as Extract<ReturnType<typeof exited>, { readonly t: "exited" }>;
  journal.add({ t: "end", record: { ...end, t: "exited" } });
  for (const [id, note] of Object.entries(notes)) journal.add({ t: "note", id, note });
  journal.flush();
  const startTime = processStat(process.pid)?.startTime ?? "";
  publishEndpoint(folder, {
    hostname: "127.0.0.1",
    port: 1,
    pid: process.pid,
    startTime,
    keeper: process.pid,
    version: "1",
  });
  takeLock(folder, { file: join(folder, "procman.json") });
  const log = new IncidentLog(folder, assert.fail);
  for (const time of ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"])
    log.append({
      slot: "alpha",
      incident: { time, process: "alpha", run: 1, cause: "exit-code", reason: "code 1", output: [] } as never,
    });
  const point = { at: 1, cpuPercent: 1, memoryBytes: 4_096, processes: 1 };
  const files = ["run/journal", "endpoint.json", "lock.1", "incidents/alpha.jsonl"].map((name) => [
    name,
    readFileSync(join(folder, name)),
  ]);
  const captures = Object.fromEntries(slots.map((slot) => [`${slot}#1`, { out: "YWI=", err: "" }]));
  rmSync(folder, { recursive: true });
  return {
    ...(Object.fromEntries(files) as FileSet),
    [`run/handover-${LOGGER_PID}.json`]: Buffer.from(JSON.stringify({ captures })),
    "metrics/1": Buffer.concat([1, 2, 3].map((at) => blockOf(at, new Map([["alpha", point]])))),
  };
}

/** @throws unless it is an error for the user */
async function refusable(call: () => unknown): Promise<void> {
  try {
    await call();
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
  }
}

/** What the next keeper reads; undefined: it says that it can't, as a newer one wrote it. */
function journalIn(folder: string): Journal | undefined {
  try {
    return new Journal(join(folder, "run/journal"), () => undefined);
  } catch (error) {
    assert.match((error as Error).message, /written by a newer procman/);
    return undefined;
  }
}

function checkJournal(journal: Journal, lines: readonly string[], before: readonly string[]): void {
  if (lines[0] === before[0])
    for (const line of before
      .filter((each) => lines.includes(each))
      .map((each) => JSON.parse(each || "{}") as { t?: string; record?: never }))
      if (line.t === "run")
        assert.ok(
          journal.state.running.has(keyOf(line.record as never)),
          `the run of an undamaged line is lost: ${JSON.stringify(line)}`,
        );
}

/** The keeper's snapshot, for a service that has a whole configuration. */
async function checkService(folder: string, { state }: Journal): Promise<void> {
  const rig = new Case();
  const running = [...state.running.values()].map((record) => ({ ...record, captured: true }));
  const snapshot = { running, ended: [...state.ended.values()], notes: Object.fromEntries(state.notes) };
  try {
    const { channel, tell } = startService(rig.context, configIn(folder), snapshot);
    const slots = new Set(running.map(({ slot }) => slot));
    for (const request of channel.requests("spawn"))
      assert.ok(!slots.has(request.split(" ")[1] ?? ""), `${request}, which runs`);
    tell(...IDS.slice(0, 3).map((slot) => spawned(slot, 2)), ...IDS.slice(0, 3).map((slot) => exited(slot, 2)));
  } finally {
    await rig.end();
  }
}

/** What the next keeper sends to a logger. The FIFOs are gone. */
async function checkLogger(folder: string, { state }: Journal): Promise<void> {
  const former = readHandover(join(folder, "run"), [LOGGER_PID]);
  const opens = [...state.captures].map(
    ([key, { capture }]): ToLogger => ({
      t: "open",
      key,
      out: join(folder, "o"),
      err: join(folder, "e"),
      capture,
      former: former(key),
    }),
  );
  const ignore = (): void => undefined;
  const logger = new Logger({ send: ignore, idle: ignore, close: ignore, handedOver: ignore });
  logger.receive([{ t: "home", folder: join(folder, "run") }, ...opens]);
  await logger.close(false);
}

async function checkFiles(files: FileSet, folder: string): Promise<void> {
  lastPort(folder);
  await refusable(() => resolveEndpoint(folder, 0));
  const lock = takeLock(folder);
  if ("release" in lock) lock.release();
  const log = new IncidentLog(folder, assert.fail);
  log.append({
    slot: "alpha",
    incident: {
      time: "2026-01-03T00:00:00.000Z",
      process: "alpha",
      run: 9,
      cause: "exit-code",
      reason: "new",
    } as never,
  });
  assert.ok(
    (await log.read("alpha")).some(({ incident }) => incident.reason === "new"),
    "an incident behind damage is lost",
  );
  const metrics = files["metrics/1"] ?? Buffer.alloc(0);
  assert.ok(wholeBytes(metrics) <= metrics.length);
  for (const { at } of pointsIn(metrics, ["alpha"], 0, 1e15).get("alpha") ?? []) new Date(at).toISOString();
}

export async function openRecords(): Promise<FuzzTarget> {
  // All in one place, one after another: what was recorded in another folder doesn't count.
  const place = mkdtempSync(join(tmpdir(), "procman-fuzz-"));
  const whole = await wholeState(place);
  const linesIn = (files: FileSet): readonly string[] => files["run/journal"]?.toString("utf8").split("\n") ?? [];
  return {
    input: (random) => writeSet(damagedSet(whole, random, WORDS)),
    check: (input) => {
      const files = readSet(input);
      return withFiles(
        files,
        async (folder) => {
          await checkFiles(files, folder);
          const journal = journalIn(folder);
          if (journal === undefined) return;
          checkJournal(journal, linesIn(files), linesIn(whole));
          const again = journalIn(folder);
          assert.deepEqual(again?.state, journal.state, "the journal, written anew and read again");
          await checkService(folder, journal);
          await checkLogger(folder, journal);
          again?.remove();
          journal.remove();
        },
        place,
      );
    },
  };
}
