/** Notes as 1.0.0 has written them (test/fixtures): an upgraded procman restarts nothing. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { eventually } from "../../../../test/support/procman-process.ts";
import { folder, startService } from "../../../../test/support/service-rig.ts";
import { Journal } from "../../keeper/journal.ts";
import { bootId } from "../../os/process-stat.ts";
import { NoteStore, processNotes, readNote } from "./notes.ts";

const read = (name: string): string =>
  readFileSync(new URL(`../../../../test/fixtures/${name}`, import.meta.url), "utf8");
const { lineage, notes } = JSON.parse(read("notes-1.0.0.json")) as { lineage: string; notes: Record<string, string> };
const FIXED = [":config", ":rolls", ":reload", ":scale", ":terminating", ":owed", ":watched", ":plugins"] as const;
const BOUND = [":reload", ":terminating"] as const;

function storeOf(stored: Record<string, string>, sessionId: string) {
  const sent = new Map<string, unknown>();
  const store = new NoteStore({ remember: (name, note) => sent.set(name, note) });
  store.load(stored, sessionId);
  return { store, sent };
}

test("each note of 1.0.0 is read", () => {
  const { store } = storeOf(notes, lineage);
  assert.deepEqual(store.read(":rolls"), [{ unit: "web", current: ["web-4"], pending: [], consumer: "cli" }]);
  assert.deepEqual(store.read(":scale"), new Map([["web", { desired: 4, configured: 3 }]]));
  assert.deepEqual(store.read(":terminating"), { why: "asked by cli" });
  assert.deepEqual(store.read(":plugins"), { notify: 4 });
  assert.deepEqual(
    [...(store.read(":watched") ?? [])],
    [["1skku3c", { fingerprint: 2_794_195_798, at: 1_795_712_702_413 }]],
  );
  assert.deepEqual(
    store.read(":owed"),
    [1, 2, 3].map((number) => ({ slot: `web-${number}`, run: 3, signal: "SIGTERM" })),
  );
  const rollout = store.read(":reload");
  assert.deepEqual([rollout?.current, rollout?.pending], [["api"], []]);
  assert.equal(rollout?.from?.processes.length, 9);
  assert.equal(store.read(":config")?.config.name, "shop");
  assert.deepEqual(
    store.incidents().map(([key, entry]) => [key, entry?.incident.cause]),
    [["web-1#2", "operator"]],
  );
  assert.ok([...processNotes(notes).values()].every((snapshot) => snapshot !== undefined));
});

test("a note is written as 1.0.0 wrote it", () => {
  const { store, sent } = storeOf({}, "");
  store.load({}, lineage);
  const former = storeOf(notes, lineage).store;
  for (const name of FIXED) {
    const content = former.read(name);
    assert.ok(content !== undefined, name);
    store.write(name, content as never);
    const note = sent.get(name);
    const written: unknown = JSON.parse(typeof note === "string" ? note : JSON.stringify(note));
    const { lineage: _session, ...unbound } = JSON.parse(notes[name] ?? "") as Record<string, unknown>;
    const expected: unknown = name === ":rolls" || name === ":scale" ? unbound : JSON.parse(notes[name] ?? "");
    assert.deepEqual(written, expected, name);
  }
});

test("the file change of a rolling restart, and the queued one, are noted with it", () => {
  const { store, sent } = storeOf({}, "");
  const change = { files: ["a.js"], count: 1, at: 5, ids: ["web-1"] };
  const restarts = [{ unit: "web", current: [], pending: ["web-1"], change, queuedChange: { ...change, count: 2 } }];
  store.write(":rolls", restarts);
  const text = JSON.stringify(sent.get(":rolls"));
  assert.match(text, /"news":.*"again":/);
  assert.deepEqual(readNote(":rolls", { ":rolls": text }, ""), restarts);
  const strange = JSON.stringify({ lineage: "", rolls: [{ cluster: "web" }, { cluster: "api", at: [], left: [] }] });
  assert.deepEqual(readNote(":rolls", { ":rolls": strange }, ""), [{ unit: "api", current: [], pending: [] }]);
});

test("a shutdown and a reload of another session are not read, and are removed; numbers of instances and rolling restarts are read", () => {
  const { store, sent } = storeOf(notes, "7 501");
  for (const name of BOUND) {
    assert.equal(store.read(name), undefined, name);
    store.remove(name);
    store.remove(name);
  }
  for (const name of BOUND) assert.equal(sent.get(name), "", name);
  assert.notEqual(store.read(":owed"), undefined, "what is sent to a run holds as long as the run");
  const killed = storeOf({ ...notes, ":terminating": "", ":reload": "" }, "7 501").store;
  for (const name of [":scale", ":rolls"] as const)
    assert.deepEqual(killed.read(name), storeOf(notes, lineage).store.read(name), name);
  const inReload = storeOf({ ...notes, ":terminating": "" }, "7 501").store;
  assert.deepEqual([inReload.read(":scale"), inReload.read(":rolls")?.length], [undefined, 1], "the file is applied");
});

test("a note that doesn't exist is not removed; a configuration that the keeper has is not sent again", () => {
  const { store, sent } = storeOf({ ":scale": "", ":config": notes[":config"] ?? "" }, lineage);
  store.remove(":scale");
  store.write(":config", store.read(":config") ?? assert.fail());
  assert.deepEqual([...sent], []);
});

test("a note that is torn or unknown is ignored", () => {
  for (const name of FIXED) {
    for (const each of ["", "{", "7", "null", `{"lineage":"${lineage}"}`, (notes[name] ?? "").slice(0, -9)])
      assert.ok(empty(readNote(name, { [name]: each }, lineage)), `${name} ${each.slice(0, 30)}`);
    fc.assert(fc.property(fc.json(), (text) => void readNote(name, { [name]: text }, lineage)));
  }
});

/** The journal was copied while a rolling restart of the cluster `web` of 1.0.0 waited for an instance. */
test("a service that is upgraded from 1.0.0 restarts nothing, and resumes the rolling restart", async (context) => {
  const path = join(mkdtempSync(join(tmpdir(), "procman-journal-")), "journal");
  context.after(() => rmSync(join(path, ".."), { recursive: true }));
  const [, ...lines] = read("journal-1.0.0.jsonl").split("\n");
  // The journal is valid for the boot in which it was written.
  writeFileSync(path, [JSON.stringify({ boot: bootId(), format: 1 }), ...lines].join("\n"));
  const { state: books } = new Journal(path, (problem) => assert.fail(problem));
  // The end of a back-off is measured from the boot of that machine; on this one it may be over.
  const stored = Object.fromEntries(
    [...books.notes].map(([name, note]) => [name, note.replace(/"until":[\d.]+/, '"until":1e12')]),
  );
  const former = readNote(":config", stored, lineage) ?? assert.fail("no configuration");
  const stateDir = folder();
  const snapshot = {
    running: [...books.running.values()].map((run) => ({ ...run, captured: true })),
    ended: [],
    notes: stored,
    lineage,
  };
  const config = { ...former.config, stateDir, plugins: [], api: { ...former.config.api, port: 0 } };
  const { channel } = startService(context, config, snapshot, {
    source: (scale) => {
      assert.deepEqual(scale?.("web", 3), 4);
      return config;
    },
  });
  await eventually(() => channel.printed.includes('resuming the rolling restart at "web-2"') || undefined);
  await eventually(() => channel.requests("signal").length > 0 || undefined);
  assert.deepEqual(channel.requests("spawn", "signal"), ["signal web-2 1"], "the stop that was pending");
  assert.deepEqual(
    Object.keys(channel.notes).filter((name) => [":scale", ":rolls"].includes(name) && channel.notes[name] === ""),
    [],
  );
});

function empty(content: unknown): boolean {
  return (
    content === undefined ||
    (Array.isArray(content) && content.length === 0) ||
    (content instanceof Map && content.size === 0)
  );
}

test("what was requested at run time ends with an end that was cut off", () => {
  const current = { ...notes, ":profile": JSON.stringify({ profile: "production", lineage }) };
  const { store, sent } = storeOf(current, "next");
  assert.ok(store.isEndCutOff);
  for (const name of [":rolls", ":scale", ":profile"] as const) {
    assert.equal(store.read(name), undefined, name);
    assert.equal(sent.get(name), "", name);
  }
  assert.ok(!storeOf(current, lineage).store.isEndCutOff, "this end continues");
  const killed = storeOf({ ...current, ":terminating": "", ":reload": "" }, "next").store;
  assert.deepEqual(
    killed.read(":profile"),
    { profile: "production", ofRun: undefined },
    "after a kill of all of procman",
  );
  assert.equal(killed.read(":scale")?.size, 1);
});
