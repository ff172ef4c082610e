/** The service with a fake keeper that records messages. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/procman-process.ts";
import {
  configOf,
  exited,
  folder,
  run,
  spawned,
  startService,
  stateAfterKill,
} from "../../../test/support/service-rig.ts";
import type { RawProcess } from "../config/config-schema.ts";
import type { Endpoint } from "../contract/records.ts";
import type { FromKeeper } from "../ipc/keeper-protocol.ts";
import type { ProcmanService } from "./service.ts";

const web: RawProcess = { id: "web", cmd: "sleep 1000", autostart: true, restart: "always" };
const job: RawProcess = { id: "job", cmd: "sleep 1000", autostart: true };
const endpointIn = (stateDir: string): Endpoint =>
  JSON.parse(readFileSync(join(stateDir, "endpoint.json"), "utf8")) as Endpoint;

test("the configuration is noted in the same array as the first starts, and only when it has changed", async (context) => {
  const config = configOf(folder(), [web, job]);
  const first = startService(context, config);
  const [batch] = first.channel.batches;
  assert.deepEqual(
    batch?.filter(({ t }) => t !== "logger").map((each) => (each.t === "note" ? `note ${each.id}` : each.t)),
    ["spawn", "spawn", "note web", "note job", `note :config`],
  );
  const next = startService(context, config, await stateAfterKill(context, config, "web", "job"));
  assert.deepEqual(next.channel.sent, [], "it resumes without a message");
});

test("a command, or terminate, is answered once the keeper has it, with the record of the moment it was accepted", async (context) => {
  const { service, channel, tell, tellSynced } = startService(context, configOf(folder(), [web]));
  tell(spawned("web"));
  channel.batches.length = 0;
  let isAnswered = false;
  const answer = service
    .control({ consumer: "test" })
    .act("web", "stop")
    .finally(() => {
      isAnswered = true;
    });
  assert.deepEqual(channel.requests("signal", "sync", "note"), ["signal web 1", "sync", "note"]);
  tell(exited("web"));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isAnswered, false);
  tellSynced();
  assert.equal((await answer).status, "stopping");
  channel.batches.length = 0;
  const end = service.control({ consumer: "test" }).terminate();
  assert.ok(channel.notes[":terminating"] !== undefined);
  tellSynced();
  await end;
});

test("removed, changed and new processes at the start of a service: each is logged, and a log file moves without a restart", async (context) => {
  const stateDir = folder();
  const logged = (stdout: string): RawProcess => ({ ...job, id: "logged", logger: { stdout } });
  const before = configOf(stateDir, [web, { ...job, id: "gone", terminateTimeout: 3 }, logged("a.log")]);
  const snapshot = await stateAfterKill(context, before, "web", "gone", "logged");
  const now = configOf(stateDir, [{ ...web, cwd: "/tmp", env: { A: "1" } }, logged("b.log"), { ...job, id: "new" }]);
  const { channel, tell } = startService(context, now, snapshot);
  assert.deepEqual(channel.requests("spawn", "signal", "route"), [
    "route logged 1",
    "signal gone 1",
    "signal web 1",
    "spawn new 1",
  ]);
  const [route] = channel.sent.filter((each) => each.t === "route");
  assert.equal(route?.t === "route" && route.capture.stdout, join(stateDir, "b.log"));
  await eventually(() => (channel.printed.length >= 6 ? true : undefined));
  for (const line of [
    /^restarted: its cwd and env have changed$/,
    /^its logger has changed; it keeps running$/,
    /^being removed: no longer in the configuration$/,
    /^still stopping \(SIGKILL in 2 s if/,
  ])
    assert.ok(
      channel.printed.some((said) => line.test(said)),
      `${line}: ${channel.printed.join("\n")}`,
    );
  assert.match(channel.notes[":config"] ?? "", /"leaving":\[{"id":"gone"/);
  tell(exited("gone"));
  await eventually(() => (channel.notes.gone === "" ? true : undefined));
  assert.match(channel.notes[":config"] ?? "", /"leaving":\[\]/);
});

test("a changed pid file: the old one is removed, the new one has the pid", async (context) => {
  const stateDir = folder();
  const [old, next] = [join(stateDir, "old.pid"), join(stateDir, "next.pid")];
  const snapshot = await stateAfterKill(context, configOf(stateDir, [{ ...web, pidFile: old }]), "web");
  assert.ok(existsSync(old));
  startService(context, configOf(stateDir, [{ ...web, pidFile: next }]), snapshot);
  assert.ok(!existsSync(old));
  rmSync(next, { force: true });
  const healed = await stateAfterKill(context, configOf(stateDir, [{ ...web, pidFile: next }]), "web");
  rmSync(next);
  startService(context, configOf(stateDir, [{ ...web, pidFile: next }]), healed);
  assert.equal(readFileSync(next, "utf8"), "5000000\n");
});

test("unusable notes are logged and deleted; running processes are adopted, unconfigured ones stopped, older runs killed", async (context) => {
  const config = configOf(folder(), [web, job]);
  const { notes = {} } = await stateAfterKill(context, config, "web", "job");
  const { channel, service } = startService(context, config, {
    running: [run("web"), run("stranger", 3), run("job", 0)],
    notes: { ...notes, web: "{torn", foreign: "[]" },
  });
  assert.deepEqual(channel.requests("spawn", "signal"), ["signal job 0", "signal stranger 3", "spawn job 2"]);
  assert.equal(channel.notes.foreign, "");
  assert.match(channel.notes.web ?? "", /"status":"running"/);
  await eventually(() => (channel.printed.length >= 5 ? true : undefined));
  assert.deepEqual(
    channel.printed.slice(0, 5),
    [
      'Cannot use the note of "web": it is damaged or of another version; ignoring it',
      'Cannot use the note of "foreign": it is damaged or of another version; ignoring it',
      "already running (pid 5000000); its history is not known",
      "runs (pid 5000000), but is not in the configuration; stopping it",
      "an earlier run of it still exists (pid 5000000); killing it",
    ],
    channel.printed.join("\n"),
  );
  assert.equal(service.supervisor.find("web").states[0]?.status, "running");
});

test("an end that the service doesn't wait for is acknowledged, so that it is not reported again", (context) => {
  const config = configOf(folder(), [{ ...job, autostart: false }]);
  const idle = {
    blocked: false,
    slots: { job: { status: "idle", run: 5, restarts: 0, outcome: { kind: "stopped" } } },
  };
  const over = exited("job", 4) as FromKeeper & { readonly t: "exited" };
  const { channel } = startService(context, config, { notes: { job: JSON.stringify(idle) }, ended: [over] });
  assert.deepEqual(channel.requests("ack", "spawn"), ["ack job 4"]);
});

test("a service that is killed during the shutdown: the next one finishes it, unless a user has started procman again", async (context) => {
  const stateDir = folder();
  const config = configOf(stateDir, [web, job]);
  const first = startService(context, config);
  first.tell(spawned("web"), spawned("job"));
  void first.service.terminate("asked by test");
  await eventually(() => (first.channel.notes[":terminating"] === undefined ? undefined : true));
  await first.service.retire();
  const notes = first.channel.notes;
  const second = startService(context, config, { running: [run("web")], notes });
  assert.ok(second.service.isTerminating);
  second.tell(exited("web"), exited("job"));
  await eventually(() => (second.channel.requests("end").length > 0 ? true : undefined));
  assert.deepEqual(second.channel.requests("spawn", "end"), ["end 0"]);
  const other = startService(context, config, {
    running: [run("web")],
    notes,
    lineage: "9 900",
  });
  assert.ok(!other.service.isTerminating);
  assert.equal(other.channel.notes[":terminating"], "");
});

test("exit-with: everything ends with its process and its code, also when that ended while no service was there", async (context) => {
  const config = configOf(folder(), [web, job]);
  const first = startService(context, config, {}, { ends: { exitWith: "job" } });
  first.tell(spawned("web"), spawned("job"));
  first.tell(exited("job", 1, 0));
  assert.ok(first.service.isTerminating);
  const second = startService(context, config, await stateAfterKill(context, config, "web", "job"), {
    ends: { exitWith: "job" },
  });
  assert.ok(!second.service.isTerminating);
  await second.service.retire();
  const failed = { t: "failed", slot: "job", run: 2, errno: "ENOENT", step: "program", message: "", at: 9 } as const;
  const { notes = {} } = await stateAfterKill(context, config, "web", "job");
  const starting = JSON.stringify({ blocked: false, slots: { job: { status: "starting", run: 2, restarts: 1 } } });
  const third = startService(
    context,
    config,
    { running: [run("web")], ended: [failed], notes: { ...notes, job: starting } },
    { ends: { exitWith: "job" } },
  );
  await eventually(() => (third.channel.requests("signal").includes("signal web 1") ? true : undefined));
  third.tell(exited("web"));
  await eventually(() => (third.channel.requests("end").length > 0 ? true : undefined));
  assert.deepEqual(third.channel.requests("end"), ["end 127"]);
});

test("the API listens at once on the port of the previous service, or on another if that is taken", async (context) => {
  const stateDir = folder();
  const config = configOf(stateDir, [web]);
  const first = startService(context, config, await stateAfterKill(context, config, "web"));
  await eventually(() => (existsSync(join(stateDir, "endpoint.json")) ? true : undefined));
  const { port } = endpointIn(stateDir);
  await first.service.retire();
  assert.equal(endpointIn(stateDir).port, port, "the address stays known");
  const changed = (service: ProcmanService): Promise<number> =>
    eventually(() =>
      endpointIn(stateDir).startTime === "" ? undefined : service.isTerminating ? undefined : endpointIn(stateDir).port,
    );
  const forget = (): void =>
    writeFileSync(join(stateDir, "endpoint.json"), JSON.stringify({ ...endpointIn(stateDir), startTime: "" }));
  forget();
  const second = startService(context, config, await stateAfterKill(context, config, "web"));
  assert.equal(await changed(second.service), port);
  await second.service.retire();
  const server: Server = createServer().listen(port, "127.0.0.1");
  await once(server, "listening");
  context.after(() => void server.close());
  forget();
  const third = startService(context, config, await stateAfterKill(context, config, "web"));
  const other = await changed(third.service);
  assert.ok(other !== port && other > 0);
});

test("the keeper gets the API's socket, which each later service takes", async (context) => {
  const stateDir = folder();
  const config = configOf(stateDir, [web]);
  const { channel } = startService(context, config, await stateAfterKill(context, config, "web"));
  const listening = await eventually(() => channel.sent.find(({ t }) => t === "listening"));
  assert.deepEqual(listening, { t: "listening", address: `api 127.0.0.1 ${endpointIn(stateDir).port}` });
});

test("a retired service holds nothing, sends nothing and decides nothing", async (context) => {
  const stateDir = folder();
  const config = configOf(stateDir, [
    { ...web, timeout: 100, cron: "* * * * * *" },
    { ...job, restart: "error", restartDelayMs: 1 },
  ]);
  const free = (): Promise<true> =>
    eventually(() =>
      process.getActiveResourcesInfo().some((name) => /Timeout|Immediate|TCP/.test(name)) ? undefined : true,
    );
  await free();
  const { service, channel, tell } = startService(context, config, await stateAfterKill(context, config, "web", "job"));
  await eventually(() => (existsSync(join(stateDir, "endpoint.json")) ? true : undefined));
  tell(exited("job", 1, 1));
  await service.retire();
  const sent = channel.batches.length;
  tell(exited("web"));
  void service.terminate("after the retirement");
  // Nothing is left that keeps the event loop alive.
  await free();
  assert.equal(channel.batches.length, sent);
  assert.match(channel.notes.job ?? "", /"status":"backoff"/, "what was decided is sent");
  assert.equal(channel.listenerCount("message"), 0);
});
