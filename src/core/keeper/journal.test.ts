import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { processStat } from "../os/process-stat.ts";
import { Journal } from "./journal.ts";

const quiet = (problem: string): void => assert.fail(problem);
const running = { slot: "web", run: 4, pid: 12, startTime: "99", since: 5 };
const ended = {
  t: "exited",
  slot: "web",
  run: 3,
  pid: 11,
  code: 7,
  signal: null,
  unknown: false,
  survivors: false,
  at: 1,
} as const;

function file(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-journal-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "run", "journal");
}

function filled(path: string): Journal {
  const journal = new Journal(path, quiet);
  journal.add({ t: "run", record: { ...running, run: 3 } });
  journal.add({ t: "end", record: ended });
  journal.add({ t: "run", record: running });
  journal.add({ t: "note", id: "web", note: "old" });
  journal.add({ t: "note", id: "web", note: "new" });
  journal.flush();
  return journal;
}

/** As 1.0.0 has written it. */
function unsummed(path: string): string {
  return readFileSync(path, "utf8").replace(/,"sum":"[0-9a-f]{8}"/g, "");
}

test("a later keeper reads what runs, what ended and was not acknowledged, and the latest notes", (context) => {
  const path = file(context);
  filled(path);
  const { state: books } = new Journal(path, quiet);
  assert.deepEqual([...books.running.values()], [running]);
  assert.deepEqual([...books.ended.values()], [ended]);
  assert.deepEqual([...books.notes], [["web", "new"]]);
});

test("deferred entries are on disk a moment later, with the entries added meanwhile", async (context) => {
  const path = file(context);
  const journal = new Journal(path, quiet);
  const before = statSync(path).size;
  journal.addDeferred({ t: "run", record: running });
  journal.add({ t: "note", id: "web", note: "meanwhile" });
  assert.equal(statSync(path).size, before);
  while (statSync(path).size === before) await setImmediate();
  const { state: books } = new Journal(path, quiet);
  assert.deepEqual([[...books.running.values()], [...books.notes]], [[running], [["web", "meanwhile"]]]);
});

test("what is acknowledged or drained is forgotten", (context) => {
  const path = file(context);
  const journal = filled(path);
  journal.add({ t: "capture", key: "web#4", fifos: 2, capture: { id: "web", console: true, decorateFiles: false } });
  journal.add({ t: "ack", slot: "web", run: 3 });
  journal.add({ t: "drained", key: "web#4" });
  journal.flush();
  const { state: books } = new Journal(path, quiet);
  assert.deepEqual([books.ended.size, books.captures.size], [0, 0]);
});

test("an empty note deletes a note, also when the file was rewritten meanwhile", (context) => {
  const path = file(context);
  const journal = filled(path);
  journal.add({ t: "note", id: "job", note: "there" });
  journal.flush();
  const next = new Journal(path, quiet);
  next.add({ t: "note", id: "web", note: "" });
  next.add({ t: "note", id: "nobody", note: "" });
  next.flush();
  assert.deepEqual([...next.state.notes], [["job", "there"]]);
  assert.deepEqual([...new Journal(path, quiet).state.notes], [["job", "there"]]);
});

test("all loggers that may still read are recorded, the latest last, until they are gone", (context) => {
  const path = file(context);
  const journal = filled(path);
  for (const pid of [21, 22, 23, 21]) journal.add({ t: "logger", pid, startTime: String(pid) });
  journal.add({ t: "logger-gone", pid: 22 });
  journal.flush();
  assert.deepEqual([...new Journal(path, quiet).state.loggers.keys()], [23, 21]);
});

test("a torn last line is ignored, and so is every line that is not an entry", (context) => {
  const path = file(context);
  filled(path);
  appendFileSync(path, '{"t":"run","record":{"slot":"torn');
  assert.deepEqual([...new Journal(path, quiet).state.running.values()], [running]);
});

test("lines that are not entries are ignored and reported", (context) => {
  const path = file(context);
  filled(path);
  appendFileSync(
    path,
    'rubbish\n{"t":"run","record":{"slot":"web","run":9,"pid":1,"startTime":"7"}}\n{"t":"later-invention"}\n',
  );
  const said: string[] = [];
  assert.deepEqual([...new Journal(path, (problem) => said.push(problem)).state.running.values()], [running]);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /^2 lines of .* can't be read/);
});

test("a journal of a newer procman is not touched", (context) => {
  const path = file(context);
  filled(path);
  const text = unsummed(path).replace(/"format":\d+/, '"format":999');
  writeFileSync(path, text);
  assert.throws(() => new Journal(path, quiet), /written by a newer procman \(format 999/);
  assert.equal(readFileSync(path, "utf8"), text);
});

test("a removed file is noticed and rewritten from the state", (context) => {
  const path = file(context);
  const journal = filled(path);
  assert.ok(journal.isIntact);
  rmSync(join(path, ".."), { recursive: true });
  assert.ok(!journal.isIntact);
  journal.recreate();
  assert.ok(journal.isIntact);
  assert.deepEqual([...new Journal(path, quiet).state.running.values()], [running]);
});

test("a journal of another boot is ignored", (context) => {
  const path = file(context);
  filled(path);
  writeFileSync(path, unsummed(path).replace(/"boot":"[^"]*"/, '"boot":"another"'));
  const { state: books } = new Journal(path, quiet);
  assert.deepEqual([books.running.size, books.ended.size, books.notes.size], [0, 0, 0]);
});

test("a journal of another container is ignored, though its PID namespace had the same number; one without that record is read", (context) => {
  const path = file(context);
  for (const [init, running] of [
    ['"init":"1"', 0],
    ['"other":"1"', 1],
  ] as const) {
    filled(path);
    writeFileSync(path, unsummed(path).replace(/"init":"\d+"/, init));
    assert.equal(new Journal(path, quiet).state.running.size, running, init);
    rmSync(path);
  }
});

test("a journal whose first line is damaged is read if a run of it is alive, and the damage is reported", (context) => {
  const path = file(context);
  const own = { ...running, pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "" };
  for (const [record, notes] of [
    [own, 1],
    [running, 0],
  ] as const) {
    const journal = filled(path);
    journal.add({ t: "run", record });
    journal.flush();
    writeFileSync(path, `\0\0${readFileSync(path, "utf8").slice(2)}`);
    const problems: string[] = [];
    assert.equal(new Journal(path, (problem) => problems.push(problem)).state.notes.size, notes);
    assert.equal(problems.filter((problem) => /1 lines .* can't be read/.test(problem)).length, notes);
    rmSync(path);
  }
});

test("the file doesn't grow with the number of restarts", (context) => {
  const path = file(context);
  const journal = new Journal(path, quiet);
  for (let run = 1; run <= 40_000; run++) {
    journal.add({ t: "run", record: { ...running, run } });
    journal.add({ t: "end", record: { ...ended, run } });
    journal.add({ t: "ack", slot: "web", run });
    if (run % 50 === 0) journal.flush();
  }
  assert.ok(statSync(path).size < 1_200_000, String(statSync(path).size));
});

test("a deferred start of a run is written before its end, never after it", async (context) => {
  for (const renewed of [false, true]) {
    const path = file(context);
    const journal = new Journal(path, quiet);
    journal.addDeferred({ t: "run", record: { ...running, run: ended.run } });
    if (renewed) journal.recreate();
    journal.add({ t: "end", record: ended });
    journal.flush();
    // The deferral is over.
    journal.addDeferred({ t: "note", id: "web", note: "later" });
    const { size } = statSync(path);
    while (statSync(path).size === size) await setImmediate();
    const { state: books } = new Journal(path, quiet);
    assert.deepEqual([[...books.running.values()], [...books.ended.values()]], [[], [ended]]);
  }
});

test("a line whose values are none of a run, a capture or an end is ignored like an unreadable one", (context) => {
  const path = file(context);
  filled(path);
  const record = { ...running, slot: "other", run: 9 };
  const lines = [
    JSON.stringify({ t: "run", record }).replace('"pid":12', '"pid":1e999'),
    JSON.stringify({ t: "run", record: { ...record, since: null } }),
    JSON.stringify({ t: "asked", slot: "other", run: 0.5 }),
    JSON.stringify({ t: "end", record: { ...ended, slot: "other", at: "1" } }),
    JSON.stringify({ t: "end", record: { ...ended, slot: "other" } }).replace(/"pid":\d+/, '"pid":1e999'),
    JSON.stringify({ t: "capture", key: "other#9", fifos: 1, capture: { console: true } }),
    JSON.stringify({ t: "capture", key: "other#9", fifos: 1, capture: { id: "other", stdout: 5 } }),
    JSON.stringify({ t: "capture", key: "other#9", fifos: 1, capture: { id: "other", store: 1 } }),
  ];
  appendFileSync(path, `${lines.join("\n")}\n`);
  const problems: string[] = [];
  const { state } = new Journal(path, (problem) => problems.push(problem));
  assert.deepEqual(
    [[...state.running.values()], state.starting.size, state.ended.size, state.captures.size],
    [[running], 0, 1, 0],
  );
  // The last one may be what a killed keeper leaves.
  assert.match(problems.join(), /^7 lines of .* can't be read/);
});
