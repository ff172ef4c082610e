/** What a service keeps of the configurations that it applies; it may be killed at any step. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, inTime } from "../../../../test/support/procman-process.ts";
import {
  configOf,
  exited,
  folder,
  run,
  type Snapshot,
  spawned,
  startService,
} from "../../../../test/support/service-rig.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import type { Config } from "../../config/spec.ts";
import type { HistoryEntry } from "../../contract/history-record.ts";
import { HistoryStore } from "../../history/history-store.ts";
import { shownHistory } from "../../history/shown-history.ts";
import { ConfigHistory } from "./config-history.ts";

const sleeper = (cmd = "sleep 1000"): RawProcess => ({ id: "web", cmd, autostart: true });
const pair = (cmd = "sleep 1000"): RawProcess => ({ ...sleeper(cmd), cluster: { instances: 2 } });

/** As read from a file with this text. */
function read(stateDir: string, process: RawProcess, profile?: string): Config {
  const config = configOf(stateDir, [process]);
  return {
    ...config,
    texts: [{ file: config.file, text: JSON.stringify(process) }],
    ...(profile !== undefined && { profile }),
  };
}

const shown = (stateDir: string): readonly HistoryEntry[] => shownHistory(new HistoryStore(stateDir)).toReversed();
const results = (stateDir: string): readonly string[] => shown(stateDir).map(({ why, result }) => `${why}: ${result}`);

/** A service with this configuration, whose keeper confirms what it has received when it is asked to. */
function serving(context: TestContext, stateDir: string, process: RawProcess, snapshot?: Snapshot) {
  const file = { now: read(stateDir, process) };
  const rig = startService(context, file.now, snapshot, {
    source: (_scale, profile) => ({ ...file.now, ...(profile !== undefined && { profile }) }),
    steadyMs: 50,
  });
  if (snapshot === undefined) rig.tell(...file.now.processes.map(({ id }) => spawned(id)));
  let done = 0;
  /** Does what the keeper was asked for since. */
  const obey = (): void => {
    const requests = rig.channel.requests("signal", "spawn");
    for (const [deed, id = "", number] of requests.slice(done).map((each) => each.split(" ")))
      rig.tell(deed === "spawn" ? spawned(id, Number(number)) : exited(id, Number(number)));
    done = requests.length;
  };
  /** Until the history says so. */
  const kept = (...expected: readonly string[]): Promise<true> =>
    eventually(
      () => {
        rig.tellSynced();
        return JSON.stringify(results(stateDir)) === JSON.stringify(expected) || undefined;
      },
      { what: `${expected.join("; ")} in place of ${results(stateDir).join("; ")}`, ms: 10_000 },
    );
  const write = (next: RawProcess): void => {
    file.now = read(stateDir, next);
  };
  /** What a service that is killed now leaves behind. */
  const killed = async (...runs: readonly (readonly [string, number])[]): Promise<Snapshot> => {
    const { notes } = rig.channel;
    await inTime(rig.service.retire(), { what: "the service's end" });
    return { running: runs.map(([slot, number]) => run(slot, number)), notes };
  };
  return { ...rig, obey, kept, write, killed };
}

test("the first start, each reload with its caller and plan, and a signal are kept; a reload that changes nothing is not", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, sleeper());
  await rig.kept("procman was started: applied");
  rig.write(sleeper("sleep 2000"));
  const control = rig.service.control({ consumer: "mcp (claude)", user: "alice" });
  void control.reload();
  await rig.kept("procman was started: applied", "asked by mcp (claude): applied");
  const [first, second] = shown(stateDir);
  assert.deepEqual([first?.processes, first?.active], [undefined, undefined]);
  assert.deepEqual(
    [
      second?.consumer,
      second?.user,
      second?.active,
      second?.processes?.map(({ process, action }) => `${process} ${action}`),
    ],
    ["mcp (claude)", "alice", true, ["web restart"]],
  );
  void control.reload();
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  rig.write(sleeper("sleep 3000"));
  rig.tell({ t: "signalled", signal: "SIGHUP" });
  await rig.kept("procman was started: applied", "asked by mcp (claude): applied", "SIGHUP: applied");
});

test("another profile of the same text is another configuration", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, sleeper());
  void rig.service.control({ consumer: "cli" }).reload({ profile: "production" });
  await rig.kept("procman was started: applied", 'asked by cli; with the profile "production": applied');
  assert.equal(shown(stateDir)[1]?.profile, "production");
});

test("an entry is running until the keeper has the commands, and an event says what became of it", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, sleeper());
  await rig.kept("procman was started: applied");
  const stop = new AbortController();
  const events = rig.service.control({ consumer: "cli" }).events(undefined, stop.signal, ["configuration.applied"]);
  const first = events[Symbol.asyncIterator]().next();
  rig.write(sleeper("sleep 2000"));
  void rig.service.reloads.reload("test");
  assert.deepEqual(results(stateDir), ["procman was started: applied", "test: running"]);
  await rig.kept("procman was started: applied", "test: applied");
  const { value } = await inTime(first, { what: "the event" });
  assert.deepEqual([value?.type, value?.entry.number, value?.entry.result], ["configuration.applied", 2, "applied"]);
  stop.abort();
});

test("what is taken back by itself says why, also if the service is killed on the way back", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, pair());
  await rig.kept("procman was started: applied");
  rig.write(pair("exit 3"));
  void rig.service.reloads.reload("test");
  await eventually(() => rig.channel.requests("signal").includes("signal web-1 1") || undefined);
  rig.tell(exited("web-1", 1));
  await eventually(() => rig.channel.requests("spawn").includes("spawn web-1 2") || undefined);
  rig.tell(spawned("web-1", 2), exited("web-1", 2, 3));
  await eventually(() => shown(stateDir)[1]?.problem || undefined);
  assert.deepEqual(results(stateDir)[1], "test: running");
  const next = serving(context, stateDir, pair("exit 3"), await rig.killed(["web-2", 1]));
  await eventually(() => {
    next.obey();
    next.tellSynced();
    return results(stateDir)[1] === "test: rolled-back" || undefined;
  });
  const [before, after] = shown(stateDir);
  assert.match(
    after?.problem ?? "",
    /^Cannot reload: "web-1" did not come up with the new configuration: it exited with code 3/,
  );
  assert.deepEqual([before?.active, after?.active], [true, undefined]);
});

test("a service that is killed before the keeper has the commands: the next one applies the file, and settles the entry", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, sleeper());
  await rig.kept("procman was started: applied");
  const before = await rig.killed(["web", 1]);
  new HistoryStore(stateDir).add(
    { time: new Date().toISOString(), result: "running", why: "test", version: "1", host: "a" },
    read(stateDir, sleeper("sleep 2000")).texts ?? [],
  );
  const next = serving(context, stateDir, sleeper("sleep 2000"), before);
  await next.kept("procman was started: applied", "test: applied");
});

test("if the file was changed meanwhile, the entry was interrupted, and the file is the next one", async (context) => {
  const stateDir = folder();
  const rig = serving(context, stateDir, sleeper());
  await rig.kept("procman was started: applied");
  const before = await rig.killed(["web", 1]);
  new HistoryStore(stateDir).add(
    { time: new Date().toISOString(), result: "running", why: "test", version: "1", host: "a" },
    read(stateDir, sleeper("sleep 2000")).texts ?? [],
  );
  const next = serving(context, stateDir, sleeper("sleep 3000"), before);
  await next.kept(
    "procman was started: applied",
    "test: interrupted",
    "procman.json had changed when the service started: applied",
  );
  assert.deepEqual(
    shown(stateDir)[2]?.processes?.map(({ reason }) => reason),
    ["its cmd has changed"],
  );
});

test("without room for a history, procman goes on, and says so once; a damaged entry is said, and the next one is kept", async (context) => {
  const stateDir = folder();
  const inTheWay = join(stateDir, "history");
  writeFileSync(inTheWay, "");
  const rig = serving(context, stateDir, sleeper());
  const reload = async (cmd: string): Promise<void> => {
    rig.write(sleeper(cmd));
    await inTime(rig.answered(rig.service.reloads.reload("test")), { what: "the reload" });
  };
  await reload("sleep 2000");
  await reload("sleep 3000");
  const said = rig.channel.printed.filter((text) => text.includes("history"));
  assert.deepEqual(said, ["Cannot keep the history of the configuration: not a directory; procman goes on"]);
  rmSync(inTheWay);
  await reload("sleep 4000");
  await rig.kept("test: applied");
  writeFileSync(join(inTheWay, "1.json"), '{"format":');
  const next = serving(context, stateDir, sleeper("sleep 5000"), await rig.killed(["web", 1]));
  const warning = "Cannot read entry 1 of the history: its file has no valid content";
  await eventually(() => next.channel.printed.includes(warning) || undefined);
  await next.kept(": damaged", "procman.json had changed when the service started: applied");
});

test("a reload of 100 processes costs less than 5 ms more by its entry", async (_context) => {
  const services = { link: { commit: async () => undefined }, log: { error: assert.fail } };
  const history = new ConfigHistory(services as never, folder(), () => undefined);
  const ids = Array.from({ length: 100 }, (_, index) => `web-${index}`);
  const config = configOf("/srv", [sleeper()]);
  const costs: number[] = [];
  for (let edit = 0; edit < 120; edit += 1) {
    const processes = ids.map((id) => ({ id, cmd: "node server.js", autostart: true, nice: edit % 20 }));
    const texts = [{ file: "/srv/procman.json", text: JSON.stringify({ edit, processes }, undefined, 2) }];
    const changes = ids.map((process) => ({
      process,
      action: "in-place",
      fields: ["nice"],
      reason: "its nice",
      rolling: false,
    }));
    const plan = { configFile: "/srv/procman.json", processes: changes, settings: [], warnings: [] } as never;
    const before = process.cpuUsage();
    history.begin({ config: { ...config, texts }, plan, why: "asked by cli" });
    history.finish("applied");
    // The entry is settled after the commit, and old ones are removed.
    await new Promise((resolve) => setImmediate(resolve));
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1_000);
  }
  // The time of the processor, in which other programs don't count.
  const median = costs.toSorted((one, other) => one - other)[costs.length / 2] ?? 0;
  assert.ok(median < 5, `${median} ms`);
  assert.equal(shownHistory(history.store).length, 100);
});
