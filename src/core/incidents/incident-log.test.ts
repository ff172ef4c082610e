/** Incidents on disk, and the limit of their rate. */
import assert from "node:assert/strict";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Incident } from "../contract/run-summary.ts";
import { IncidentLimit } from "./incident-limit.ts";
import { IncidentLog } from "./incident-log.ts";

function folder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "procman-incidents-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const START = Date.UTC(2026, 5, 1);

function incident(run: number, more: Partial<Incident> = {}): Incident {
  const time = new Date(START + run * 1_000).toISOString();
  return {
    time,
    process: "web",
    run,
    cause: "exit",
    reason: "exited with code 3",
    code: 3,
    pid: run + 10,
    decision: "none",
    lines: [],
    metrics: [],
    ...more,
  };
}

const runs = async (book: IncidentLog): Promise<readonly number[]> =>
  (await book.read("web")).map((entry) => entry.incident.run);

test("an end that is told again by a service that knows less is one incident, with what the first one knew", async (context) => {
  const book = new IncidentLog(folder(context), assert.fail);
  const { pid: _, ...pidless } = incident(1);
  assert.ok(book.append({ slot: "web", incident: incident(1) }));
  assert.ok(!book.append({ slot: "web", incident: pidless }));
  assert.ok(!book.append({ slot: "web", incident: incident(1, { cause: "unknown" }) }));
  assert.deepEqual(
    (await book.read("web")).map((entry) => entry.incident),
    [incident(1)],
  );
  // A start that failed, another run of the same number and a later one are other ends.
  assert.ok(book.append({ slot: "web", incident: { ...pidless, cause: "unstartable" } }));
  assert.ok(book.append({ slot: "web", incident: incident(1, { cause: "unknown", pid: 99 }) }));
  assert.ok(book.append({ slot: "web", incident: { ...pidless, time: incident(99).time } }));
  assert.deepEqual(await runs(book), [1, 1, 1, 1]);
});

test("refused growth that is over replaces what was written when it began; the next one is another", async (context) => {
  const book = new IncidentLog(folder(context), assert.fail);
  const { pid: _, ...refused } = incident(0, { cause: "growth-refused" });
  const over = { ...refused, ended: incident(500).time };
  const next = { ...refused, time: incident(900).time };
  for (const each of [refused, over, next]) book.append({ slot: "web", incident: each });
  assert.deepEqual(
    (await book.read("web")).map((entry) => entry.incident),
    [over, next],
  );
  assert.deepEqual([book.latest("web"), book.latest("other")], [next, undefined]);
});

test("incidents survive the service, oldest first, separately for each process", async (context) => {
  const state = folder(context);
  const book = new IncidentLog(state, assert.fail);
  for (const run of [1, 2, 3]) book.append({ slot: "web", incident: incident(run) });
  book.append({ slot: "api", incident: incident(9, { process: "api" }) });
  const next = new IncidentLog(state, assert.fail);
  next.append({ slot: "web", incident: incident(4) });
  assert.deepEqual(await runs(next), [1, 2, 3, 4]);
  assert.deepEqual(await next.read("nobody"), []);
});

test("the latest incident of a run counts; a run with the same number of another service is another run", async (context) => {
  const book = new IncidentLog(folder(context), assert.fail);
  book.append({ slot: "web", open: true, incident: incident(1) });
  book.append({ slot: "web", incident: incident(1, { reason: "complete" }) });
  book.append({
    slot: "web:2",
    incident: incident(1, { reason: "of another slot", time: new Date(START + 2_000).toISOString() }),
  });
  book.append({
    slot: "web",
    incident: incident(1, { reason: "later", time: new Date(START + 600_000).toISOString() }),
  });
  const entries = await book.read("web");
  assert.deepEqual(
    entries.map((entry) => entry.incident.reason),
    ["complete", "of another slot", "later"],
  );
  assert.ok(entries.every(({ open }) => open === undefined));
});

test("a kill in the middle of a write loses only that line", async (context) => {
  const state = folder(context);
  new IncidentLog(state, assert.fail).append({ slot: "web", incident: incident(1) });
  const file = join(state, "incidents/web.jsonl");
  appendFileSync(file, readFileSync(file, "utf8").slice(0, 40));
  appendFileSync(file, '\n{"slot":"web","incident":7}\nnull\n{"slot":"web","inci');
  const book = new IncidentLog(state, assert.fail);
  book.append({ slot: "web", incident: incident(2) });
  assert.deepEqual(await runs(book), [1, 2]);
});

test("a process that ends all the time keeps its last hundred incidents, in a file of limited size", async (context) => {
  const state = folder(context);
  const book = new IncidentLog(state, assert.fail);
  const lines = [{ time: "", severity: "info", category: "stdout", text: "x".repeat(5_000) } as const];
  for (let run = 1; run <= 1_000; run++) book.append({ slot: "web", incident: incident(run, { lines }) });
  assert.ok(statSync(join(state, "incidents/web.jsonl")).size <= 1_024 * 1_024);
  const kept = await runs(book);
  assert.ok(kept.length <= 100 && kept.length > 50, String(kept.length));
  assert.equal(kept.at(-1), 1_000);
  for (let run = 1_001; run <= 3_000; run++) book.append({ slot: "web", incident: incident(run) });
  assert.equal((await runs(book)).length, 100);
});

test("a write error is reported once, and incidents are stored again afterwards", async (context) => {
  const state = folder(context);
  writeFileSync(join(state, "incidents"), "in the way");
  const problems: string[] = [];
  const book = new IncidentLog(state, (problem) => problems.push(problem));
  for (const run of [1, 2]) book.append({ slot: "web", incident: incident(run) });
  assert.equal(problems.length, 1);
  rmSync(join(state, "incidents"));
  book.append({ slot: "web", incident: incident(3) });
  rmSync(join(state, "incidents"), { recursive: true });
  book.append({ slot: "web", incident: incident(4) });
  assert.deepEqual(await runs(book), [4], "a removed folder is made again");
  assert.equal(problems.length, 1);
});

test("a write error is reported once, though another process's incident could be written meanwhile, and again after it was over", (context) => {
  const state = folder(context);
  const problems: string[] = [];
  const book = new IncidentLog(state, (problem) => problems.push(problem));
  const append = (process: string): unknown => book.append({ slot: process, incident: incident(1, { process }) });
  const inTheWay = join(state, "incidents/db.jsonl");
  mkdirSync(inTheWay, { recursive: true });
  for (const process of ["db", "web", "db"]) append(process);
  assert.equal(problems.length, 1);
  rmdirSync(inTheWay);
  append("db");
  rmSync(inTheWay);
  mkdirSync(inTheWay);
  append("db");
  assert.equal(problems.length, 2);
});

test("a process that is removed while its incident can't be written keeps no later problem back", (context) => {
  const state = folder(context);
  const problems: string[] = [];
  const configured = new Set(["db", "web"]);
  const book = new IncidentLog(
    state,
    (problem) => problems.push(problem),
    () => configured,
  );
  const append = (process: string): unknown => book.append({ slot: process, incident: incident(1, { process }) });
  for (const process of configured) mkdirSync(join(state, `incidents/${process}.jsonl`), { recursive: true });
  append("db");
  configured.delete("db");
  append("web");
  assert.equal(problems.length, 2);
});

test("of removed processes the files of the thousand that ended last are kept, of others all", async (context) => {
  const state = folder(context);
  mkdirSync(join(state, "incidents"));
  const file = (id: string): string => join(state, `incidents/${id}.jsonl`);
  const add = (id: string, seconds: number): void => {
    writeFileSync(file(id), `${JSON.stringify({ slot: id, incident: incident(1, { process: id }) })}\n`);
    utimesSync(file(id), seconds, seconds);
  };
  for (let number = 0; number < 1_200; number += 1) add(`here-${number}`, number);
  for (let number = 0; number < 1_002; number += 1) add(`gone-${number}`, number);
  const configured = new Set(Array.from({ length: 1_200 }, (_, number) => `here-${number}`));
  const book = new IncidentLog(state, assert.fail, () => configured);
  book.append({ slot: "here-0", incident: incident(2, { process: "here-0" }) });
  const left = readdirSync(join(state, "incidents"));
  assert.deepEqual([left.length, existsSync(file("gone-1")), existsSync(file("gone-2"))], [2_200, false, true]);
});

test("in a storm the first ten incidents, one a second and always the last are kept", () => {
  const limit = new IncidentLimit<number>();
  const passed: { item: number; leftOut: number }[] = [];
  for (let number = 0; number < 7_000; number++) {
    const admitted = limit.admit("web", number, number / 0.7);
    if (admitted !== undefined) passed.push(admitted);
  }
  assert.ok(passed.length >= 19 && passed.length <= 21, String(passed.length));
  assert.equal(limit.hasDeferred, true);
  const [last, ...others] = limit.release(20_000);
  assert.deepEqual([last?.item, others.length, limit.hasDeferred], [6_999, 0, false]);
  const recorded = [...passed, ...(last === undefined ? [] : [last])];
  assert.equal(
    recorded.reduce((sum, { leftOut }) => sum + leftOut + 1, 0),
    7_000,
    "all are counted",
  );
  assert.deepEqual(limit.release(30_000), []);
});

test("the first incident of a process is kept in a storm of hundreds of others", () => {
  const limit = new IncidentLimit<number>();
  let passed = 0;
  for (let number = 0; number < 20_000; number++)
    if (limit.admit(`web-${number % 200}`, number, number / 2) !== undefined) passed++;
  assert.ok(passed < 450, `${passed} in ten seconds`);
  assert.deepEqual(limit.admit("quiet", 1, 10_000), { item: 1, leftOut: 0 });
});

test("at the end no incident is held back", () => {
  const limit = new IncidentLimit<number>();
  for (let number = 0; number < 15; number++) limit.admit("web", number, 0);
  assert.deepEqual(limit.drain(), [{ item: 14, leftOut: 4 }]);
  assert.equal(limit.hasDeferred, false);
});
