/** `Control`, in process and over HTTP: one table of behaviours for both. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { TIME } from "../../../test/support/control-fakes.ts";
import { type ControlRig, controlRig, PLANNED, startApi } from "../../../test/support/control-rig.ts";
import { type ErrorCode, ProcmanError } from "../base/errors.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { TelemetryReport } from "../contract/records.ts";
import { OWNER_SCOPES } from "../contract/token-claims.ts";

type World = { readonly rig: ControlRig; readonly control: Control; readonly as: (caller: Caller) => Control };

type Behaviour = (world: World) => Promise<void>;

const REPORT: TelemetryReport = {
  process: "web",
  memory: { rss: 1, heapTotal: 2, heapUsed: 3, external: 4 },
  cwd: "/srv",
  sent: TIME,
  metrics: { "requests.open": 1.5 },
};

/** Asserts on error code and message. */
async function refused(call: Promise<unknown>, code: ErrorCode, message: RegExp): Promise<ProcmanError> {
  const error = await call.then(
    () => assert.fail(`${code} was expected`),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ProcmanError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
  return error;
}

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "all processes are shown, the instances of a cluster below it": async ({ control }) => {
    const records = await control.processes();
    assert.deepEqual(
      records.map(({ id, status, instances = [] }) => [id, status, instances.map(({ id: instance }) => instance)]),
      [
        ["web", "running", []],
        ["job", "running", []],
        ["pair", "running", ["pair-1", "pair-2"]],
      ],
    );
  },
  "one process, one instance, one cluster, or all": async ({ control }) => {
    assert.equal((await control.process("web")).type, "process");
    assert.equal((await control.process("pair-2")).instance, 2);
    assert.equal((await control.process("pair")).instances?.length, 2);
    assert.equal((await control.process("all")).instances?.length, 4);
  },
  "a group stands for its members, wherever an id is taken": async ({ control, rig }) => {
    const { type, groups, instances = [], reason } = await control.process("group:back");
    assert.deepEqual([type, groups, reason], ["group", undefined, "2 of 2 processes are running"]);
    assert.deepEqual(
      instances.map(({ id }) => id),
      ["pair-1", "pair-2"],
    );
    const [web, job, pair] = await control.processes();
    assert.deepEqual([web?.groups, job?.groups, pair?.groups], [["front"], undefined, ["back", "both"]]);
    assert.equal((await control.metrics("group:front", {})).length, 1);
    assert.equal((await control.incidents("group:front", 1))[0]?.process, "web");
    await control.signal("group:both", { signal: "HUP" });
    assert.deepEqual(rig.spawner.takeRequests(), ["SIGHUP pair-1 1", "SIGHUP pair-2 1"]);
    await control.act("group:both", "stop");
    assert.deepEqual(rig.spawner.takeRequests(), ["SIGTERM pair-2 1", "SIGTERM pair-1 1"]);
    assert.equal(rig.auditLines.at(-1), 'stop of group:both for "ci"');
    assert.equal((await control.process("web")).status, "running");
    rig.logAccess.feed.push({ time: TIME, process: "web", severity: "info", category: "stdout", text: "a" });
    rig.logAccess.feed.push({
      time: TIME,
      process: "pair-2",
      instance: 2,
      severity: "info",
      category: "stdout",
      text: "b",
    });
    assert.deepEqual(
      (await control.logs({ processes: ["group:both"] })).entries.map(({ text }) => text),
      ["b"],
    );
  },
  "an unknown group is refused with the nearest one; a group without its prefix is named": async ({ control }) => {
    await refused(
      control.act("group:bak", "stop"),
      "process-unknown",
      /^Cannot find group "bak": no process is in it\. Did you mean "group:back"\?$/,
    );
    await refused(control.process("both"), "process-unknown", /Did you mean the group, "group:both"\?$/);
    await refused(control.logs({ processes: ["group:no"] }), "process-unknown", /^Cannot find group "no"/);
    for (const id of ["group:", "group:web", "group:all", "group:group:back"])
      await refused(control.act(id, "stop"), "process-unknown", /group/);
  },
  "an unknown id is refused with the nearest name": async ({ control }) => {
    await refused(control.process("wbe"), "process-unknown", /^Cannot find process "wbe": .* Did you mean "web"\?$/);
    for (const id of ["", "../web", "a/b", "w%", "ü\0", "x".repeat(3_000), "__proto__"])
      await refused(control.act(id, "stop"), "process-unknown", /^Cannot find process/);
    await refused(control.metrics("no", {}), "process-unknown", /"no"/);
    await refused(control.incidents("no"), "process-unknown", /"no"/);
    await refused(control.runs("no"), "process-unknown", /"no"/);
  },
  "the state counts processes": async ({ control }) => {
    const { name, pid, processes, status } = await control.state();
    assert.deepEqual([name, pid, status, processes], ["test", 7, "running", { total: 4, running: 4 }]);
  },
  "an action answers at once, with an audit line that names the caller": async ({ control, rig }) => {
    assert.equal((await control.act("web", "stop")).status, "stopping");
    assert.deepEqual(rig.spawner.takeRequests(), ["SIGTERM web 1"]);
    await refused(control.act("job", "start"), "process-running", /^Cannot start "job"/);
    assert.equal((await control.processes())[0]?.status, "stopping", "what was done is seen at once");
    await refused(control.act("nobody", "stop"), "process-unknown", /^Cannot find process/);
    const [done, failed, unknown] = rig.auditLines;
    assert.match(done ?? "", /^web: stop for "ci"$/);
    assert.match(failed ?? "", /^job: start of "job" for "ci": refused: Cannot start "job"/);
    assert.match(unknown ?? "", /^stop of "nobody" for "ci": refused: Cannot find process/);
  },
  "a wait ends when the target state is reached": async ({ control, rig }) => {
    const stopped = control.act("web", "stop", { waitSeconds: 20 });
    await asked(rig, "SIGTERM web 1");
    rig.spawner.exit("web", 0);
    rig.spawner.swept("web");
    assert.equal((await stopped).status, "stopped");
    const started = control.act("web", "start", { waitSeconds: 20 });
    await asked(rig, "spawn web 2");
    rig.spawner.up("web");
    assert.equal((await started).status, "running");
    const restarted = control.act("pair", "restart", { waitSeconds: 20 });
    for (const id of ["pair-1", "pair-2"]) {
      await asked(rig, `SIGTERM ${id} 1`);
      rig.spawner.exit(id, 0);
      rig.spawner.swept(id);
      rig.spawner.up(id);
    }
    assert.deepEqual(
      (await restarted).instances?.map(({ run }) => run),
      [2, 2],
    );
  },
  "a wait ends when the target state can't be reached": async ({ control, rig }) => {
    const restarted = control.act("web", "restart", { waitSeconds: 20 });
    const rejected = refused(restarted, "process-failed", /^Cannot restart "web": /);
    await asked(rig, "SIGTERM web 1");
    rig.spawner.exit("web", 0);
    rig.spawner.swept("web");
    rig.spawner.end("web", { kind: "unstartable", message: "there is no program", permanent: true });
    await rejected;
    const stopping = refused(control.act("job", "stop", { waitSeconds: 20 }), "process-failed", /^Cannot stop "job": /);
    await asked(rig, "SIGTERM job 1 to the leader");
    rig.supervisor.find("job").start();
    rig.spawner.exit("job", 0);
    await stopping;
  },
  "if a reload removes a process while a caller waits for its stop, the error says so": async ({ control, rig }) => {
    const message = /^Cannot find "web" any more: it was removed from the configuration meanwhile$/;
    const stopped = refused(control.act("web", "stop", { waitSeconds: 20 }), "process-unknown", message);
    await asked(rig, "SIGTERM web 1");
    rig.supervisor.apply(rig.supervisor.processes.map(({ definition }) => definition).filter(({ id }) => id !== "web"));
    rig.spawner.exit("web", 0);
    rig.spawner.swept("web");
    await stopped;
  },
  "a wait that takes too long says so; the operation continues": async ({ control, rig }) => {
    await refused(
      control.act("web", "stop", { waitSeconds: 0.05 }),
      "wait-timeout",
      /the stop of "web": timed out after 0.05 s; it is being stopped, was sent SIGTERM; the stop continues in the background$/,
    );
    await refused(control.act("job", "stop", { waitSeconds: 0 }), "wait-timeout", /^Cannot wait/);
    assert.deepEqual(rig.spawner.takeRequests(), ["SIGTERM web 1", "SIGTERM job 1 to the leader"]);
  },
  "a signal goes to the process group, by killMode or on request to the leader alone, and to all running instances":
    async ({ control, rig }) => {
      assert.equal((await control.signal("web", { signal: "hup" })).status, "running");
      await control.signal("web", { signal: 1, to: "leader" });
      await control.signal("job", { signal: "SIGUSR1" });
      await control.signal("job", { signal: "SIGUSR1", to: "group" });
      assert.deepEqual(rig.spawner.takeRequests(), [
        "SIGHUP web 1",
        "SIGHUP web 1 to the leader",
        "SIGUSR1 job 1 to the leader",
        "SIGUSR1 job 1",
      ]);
      rig.spawner.exit("pair-1", 0);
      await control.signal("pair", { signal: "WINCH" });
      assert.deepEqual(rig.spawner.takeRequests(), ["SIGWINCH pair-2 1"]);
      assert.equal(rig.auditLines[0], 'web: signal SIGHUP for "ci"');
    },
  "a reload is the reloadSignal, to the main process of each running instance; without one it is refused": async ({
    control,
    rig,
  }) => {
    await control.signal("pair", { signal: "reload" });
    assert.deepEqual(rig.spawner.takeRequests(), ["SIGUSR2 pair-1 1 to the leader", "SIGUSR2 pair-2 1 to the leader"]);
    assert.equal(rig.auditLines[0], 'pair: reload for "ci"');
    await refused(
      control.signal("web", { signal: "reload" }),
      "reload-unsupported",
      /^Cannot reload "web": it has no "reloadSignal"; .* "procman restart web" restarts it$/,
    );
    await refused(
      control.signal("all", { signal: "reload" }),
      "reload-unsupported",
      /^Cannot reload "all": "web" has no "reloadSignal"/,
    );
    rig.spawner.exit("pair-1", 0);
    rig.spawner.exit("pair-2", 0);
    await refused(
      control.signal("pair", { signal: "reload" }),
      "process-not-running",
      /^Cannot reload "pair": none of its instances is/,
    );
  },
  "text and bytes are typed into one process; the audit line has their number alone": async ({ control, rig }) => {
    assert.deepEqual(await control.input("web", { text: "päss\n" }), { process: "web", bytes: 6 });
    assert.deepEqual(await control.input("pair-2", { data: "AP8K" }), { process: "pair-2", bytes: 3 });
    assert.deepEqual(await control.input("web", { text: "" }), { process: "web", bytes: 0 });
    assert.deepEqual(rig.inputs, ["web päss\n", `pair-2 ${Buffer.from([0, 255, 10])}`, "web "]);
    assert.deepEqual(rig.auditLines.slice(0, 2), [
      'web: input of 6 bytes for "ci"',
      'pair-2: input of 3 bytes for "ci"',
    ]);
  },
  "input for several processes, for none, and of neither kind is refused": async ({ control, rig }) => {
    const named = /^Cannot send to "pair": it is not one process; name one, such as "pair-1"$/;
    await refused(control.input("pair", { text: "x" }), "input-refused", named);
    for (const id of ["all", "group:front"])
      await refused(
        control.input(id, { text: "x" }),
        "input-refused",
        /it is not one process; name one, such as "web"$/,
      );
    await refused(control.input("wbe", { text: "x" }), "process-unknown", /Did you mean "web"\?$/);
    for (const input of [{}, { text: "x", data: "eA==" }])
      await refused(control.input("web", input), "input-invalid", /either "text" or "data"/);
    assert.deepEqual(rig.inputs, []);
  },
  "a full pipe says how much was taken; an attempt for which there was no room at all has no audit line": async ({
    control,
    rig,
  }) => {
    rig.room.bytes = 5;
    const full = await refused(control.input("web", { text: "12345678\n" }), "input-full", /5 of 9 bytes were taken$/);
    assert.equal(full.taken, 5);
    const none = await refused(control.input("web", { text: "678\n" }), "input-full", /0 of 4 bytes were taken$/);
    assert.equal(none.taken, 0);
    assert.deepEqual(rig.auditLines, [
      'web: input of 9 bytes of "web" for "ci": refused: Cannot send to "web": its pipe is full: 5 of 9 bytes were taken',
    ]);
  },
  "the terminal of one process is seen; it gets the size of the window before what is typed there": async ({
    control,
    rig,
  }) => {
    const stop = new AbortController();
    const items: unknown[] = [];
    for await (const item of control.screen("web", stop.signal)) if (items.push(item) === 2) break;
    stop.abort();
    const data = Buffer.from("screen of web").toString("base64");
    assert.deepEqual(items, [
      { type: "begun", run: 1 },
      { type: "output", data },
    ]);
    await control.input("web", { text: "x", size: { rows: 30, columns: 100 } });
    assert.deepEqual(rig.inputs, ["web 30x100", "web x"]);
    assert.deepEqual(rig.auditLines, ['web: terminal for "ci"', 'web: input of 1 byte for "ci"']);
    const refusal = control.screen("pair", new AbortController().signal)[Symbol.asyncIterator]().next();
    await refused(refusal, "input-refused", /it is not one process; name one/);
  },
  "a signal that doesn't exist, or to a process that doesn't run, is refused": async ({ control, rig }) => {
    await refused(
      control.signal("web", { signal: "SIGHPU" }),
      "input-invalid",
      /there is no signal "SIGHPU".* Did you mean "SIGHUP"\?$/,
    );
    await refused(control.signal("web", { signal: "UR1" }), "input-invalid", /Did you mean "USR1"\?$/);
    await refused(control.signal("web", { signal: 63 }), "input-invalid", /there is no signal 63/);
    await refused(control.signal("nobody", { signal: "HUP" }), "process-unknown", /^Cannot find process/);
    rig.spawner.exit("web", 0);
    await control.act("web", "stop");
    await refused(control.signal("web", { signal: "HUP" }), "process-not-running", /^Cannot signal "web": it /);
    for (const id of ["pair-1", "pair-2"]) rig.spawner.exit(id, 0);
    await refused(
      control.signal("pair", { signal: "HUP" }),
      "process-not-running",
      /^Cannot signal "pair": none of its instances is running$/,
    );
  },
  "start of all starts processes that don't run, and skips blocked ones": async ({ control, rig }) => {
    for (const id of ["web", "job"]) {
      await control.act(id, "stop");
      rig.spawner.exit(id, 0);
      rig.spawner.swept(id);
    }
    await control.act("job", "block");
    rig.spawner.takeRequests();
    const all = control.act("all", "start", { waitSeconds: 20 });
    await asked(rig, "spawn web 2");
    rig.spawner.up("web");
    assert.equal((await all).status, "mixed");
    assert.equal((await control.process("job")).status, "stopped");
    await control.act("pair", "start");
    await control.act("pair", "block");
    await refused(control.act("pair", "restart"), "process-blocked", /^Cannot restart "pair-1": it is blocked/);
  },
  "block and unblock are seen at once": async ({ control }) => {
    assert.equal((await control.act("web", "block", { waitSeconds: 5 })).blocked, true);
    assert.equal((await control.processes())[0]?.blocked, true);
    assert.equal((await control.act("web", "unblock")).blocked, false);
    assert.equal((await control.processes())[0]?.blocked, false);
  },
  "a plan changes nothing; a reload names the caller": async ({ control, rig }) => {
    assert.deepEqual(await control.plan(), PLANNED);
    assert.deepEqual(rig.reloads, []);
    assert.deepEqual(await control.reload({ waitSeconds: 5 }), PLANNED);
    assert.deepEqual(rig.reloads, ["asked by ci"]);
    assert.deepEqual(rig.auditLines, ['reload for "ci"']);
  },
  "terminate begins the shutdown, and names the caller": async ({ control, rig }) => {
    await control.terminate();
    assert.deepEqual(rig.terminations, ["asked by ci"]);
    assert.deepEqual(rig.auditLines, ['terminate for "ci"']);
  },
  "the log: every filter arrives, pages follow each other": async ({ control, rig }) => {
    for (const text of ["a", "b", "c"]) await control.log({ text });
    const query = {
      processes: ["web", "pair-1"],
      severity: "warn",
      categories: ["stdout", "log"],
      from: 5,
      to: Date.UTC(2026, 0),
      search: "50 % & ü=?",
      limit: 2,
      order: "asc",
    } as const;
    const first = await control.logs(query);
    assert.deepEqual(rig.logAccess.queries, [query]);
    assert.deepEqual([first.entries.map(({ text }) => text), first.next], [["a", "b"], "2"]);
    const last = await control.logs({ ...query, ...(first.next === undefined ? {} : { cursor: first.next }) });
    assert.deepEqual(last, { entries: [{ time: TIME, severity: "info", category: "log", text: "c" }] });
    assert.deepEqual(rig.logAccess.queries[1], { ...query, cursor: "2" });
  },
  "the log is followed: stored lines, then new ones; an abort ends it": async ({ control, rig }) => {
    await control.log({ text: "before" });
    const stop = new AbortController();
    const texts: string[] = [];
    for await (const item of control.follow({ severity: "info" }, stop.signal)) {
      if (item.type === "entry") texts.push(`${item.entry.text} ${item.cursor}`);
      if (texts.length === 1) await control.log({ text: "after\r\n\n: data: ü" });
      else stop.abort();
    }
    assert.deepEqual(texts, ["before 1", "after\r\n\n: data: ü 2"]);
    await until(() => rig.logAccess.feed.listeners === 0);
  },
  "disable and enable take a cluster as a whole if it is named with all its instances": async ({ control, rig }) => {
    await control.act("pair-1", "disable");
    assert.deepEqual(rig.clusters, []);
    for (const id of ["pair", "group:both", "all"]) await control.act(id, "disable");
    await control.act("pair", "enable");
    assert.deepEqual(rig.clusters, [...Array(3).fill("pair disabled"), "pair enabled"]);
    const own = rig.control({ consumer: "ci", limits: { processes: ["pair-2"], groups: [] } });
    await own.act("pair", "disable");
    assert.equal(rig.clusters.length, 4, "the token doesn't see the other instance");
  },
  "a start gives a stopped process another port than a taken one, but not by a token that doesn't see it": async ({
    control,
    rig,
  }) => {
    const taken = createServer().listen(0, "127.0.0.1").unref();
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    rig.specs.replace({ ...rig.specs.config, chosenPorts: { job: port, web: port } });
    await control.act("job", "stop");
    rig.spawner.exit("job", 0);
    rig.spawner.swept("job");
    const other = rig.control({ consumer: "ci", limits: { processes: ["web"], groups: [] } });
    await assert.rejects(other.act("job", "start"), { code: "process-unknown" });
    assert.deepEqual(rig.reloads, []);
    await control.act("job", "start");
    assert.deepEqual(rig.reloads, ["another port for job"]);
    taken.close();
  },
  "a flush of the logs: of all with the store, or of some processes; it is audited, and unknown ids change nothing":
    async ({ control, rig }) => {
      for (const ids of [undefined, ["all", "web"], ["pair", "web"]]) await control.flush(ids);
      assert.deepEqual(rig.logAccess.flushes, [
        ...Array(2).fill("web,job,pair-1,pair-2 and the store"),
        "pair-1,pair-2,web",
      ]);
      assert.deepEqual(rig.auditLines, [
        'flush of the logs of all for "ci"',
        'flush of the logs of all for "ci"',
        'pair: flush of the log files for "ci"',
        'web: flush of the log files for "ci"',
      ]);
      await refused(control.flush(["web", "wbe"]), "process-unknown", /Did you mean "web"/);
      assert.equal(rig.logAccess.flushes.length, 3);
    },
  "a line is put into the log": async ({ control, rig }) => {
    assert.deepEqual(await control.log({ text: "deployed", severity: "warn", process: "web" }), {
      time: TIME,
      severity: "warn",
      category: "log",
      text: "deployed",
      process: "web",
    });
    assert.deepEqual(
      rig.logAccess.callers.map(({ consumer }) => consumer),
      ["ci"],
    );
    await refused(control.log({ text: "x", process: "wbe" }), "process-unknown", /Did you mean "web"/);
  },
  "of a cluster a log entry is taken, telemetry only of an instance": async ({ control }) => {
    assert.equal((await control.log({ text: "x", process: "pair" })).process, "pair");
    const why = /^Cannot take telemetry of "pair": it is a cluster; name an instance, such as "pair-1"$/;
    await refused(control.telemetry({ ...REPORT, process: "pair" }), "input-invalid", why);
    for (const process of ["all", "group:back"])
      await refused(control.log({ text: "x", process }), "input-invalid", /it is not one process; name a process/);
  },
  "telemetry arrives as it was sent": async ({ control, rig }) => {
    await control.telemetry(REPORT);
    assert.deepEqual(rig.reporting.reports, [REPORT]);
  },
  "a process's token is good for that process only": async ({ as, rig }) => {
    const own = as({ consumer: "process:web", process: "web" });
    await own.telemetry(REPORT);
    await refused(own.telemetry({ ...REPORT, process: "job" }), "process-foreign", /valid only for "web"/);
    await refused(own.log({ text: "x", process: "job" }), "process-foreign", /valid only for "web"/);
    assert.equal(
      rig.auditLines.filter((line) => /^web: refused: Cannot speak for "job"/.test(line)).length,
      2,
      "each is told",
    );
    assert.equal((await own.log({ text: "of web" })).process, "web");
    assert.equal(rig.reporting.reports.length, 1);
  },
  "metrics and incidents, with the query": async ({ control, rig }) => {
    assert.deepEqual(await control.metrics("web", { from: 1, to: 2, stepSeconds: 60 }), rig.reporting.points);
    assert.deepEqual(rig.reporting.queries, [{ from: 1, to: 2, stepSeconds: 60 }]);
    assert.equal((await control.incidents("web", 5)).length, 5);
    assert.equal((await control.incidents("web")).length, 2);
    assert.equal(await control.prometheus(), "procman_up web,job,pair-1,pair-2\n");
  },
  "runs: the present one, then those that have ended, page by page": async ({ control }) => {
    const { runs, next = "" } = await control.runs("web", { limit: 2 });
    const [present, last] = runs;
    assert.deepEqual([present?.run, present?.pid, present?.ended, present?.reason], [1, 101, undefined, "is running"]);
    assert.deepEqual([last?.run, last?.ended, last?.cause, last?.code], [2, TIME, "exit", 3]);
    const rest = await control.runs("web", { limit: 2, cursor: next });
    assert.deepEqual([rest.runs.map(({ run }) => run), rest.next], [[1], undefined]);
    await refused(control.runs("web", { cursor: "x" }), "input-invalid", /"query.cursor" is not a cursor of this list/);
  },
  "events: from now on, or from an event on": async ({ control, rig }) => {
    rig.reporting.addEvent();
    rig.reporting.addEvent();
    const stop = new AbortController();
    const ids: string[] = [];
    for await (const { id } of control.events("1", stop.signal)) {
      ids.push(id);
      if (ids.length === 1) rig.reporting.addEvent();
      else stop.abort();
    }
    assert.deepEqual(ids, ["2", "3"]);
    await until(() => rig.reporting.feed.listeners === 0);
  },
};

/** Waits for a condition: over HTTP, effects are delayed. */
async function until(isSo: () => boolean): Promise<void> {
  for (const late = performance.now() + 20_000; !isSo(); await new Promise((resolve) => setTimeout(resolve, 2)))
    assert.ok(performance.now() < late, `timed out waiting for ${isSo}`);
}

async function asked(rig: ControlRig, what: string): Promise<void> {
  await until(() => rig.spawner.log.includes(what));
}

function inProcess(): World {
  const rig = controlRig();
  return { rig, control: rig.control({ consumer: "ci" }), as: rig.control };
}

async function overHttp(context: TestContext): Promise<World> {
  const api = await startApi(context);
  return {
    rig: api.rig,
    control: api.client(api.token({ scopes: OWNER_SCOPES })),
    as: (caller) => api.client(api.token({ ...caller, scopes: ["telemetry", "log"] })),
  };
}

for (const [name, behaviour] of Object.entries(BEHAVIOURS)) {
  test(`in process: ${name}`, () => behaviour(inProcess()));
  test(`over HTTP: ${name}`, async (context) => behaviour(await overHttp(context)));
}
