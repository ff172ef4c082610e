import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock, test } from "node:test";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import type { StateRecord } from "../../../core/contract/state-record.ts";
import { testPlugin } from "../../../core/plugins/test-kit.ts";
import { retryAfter } from "../shared/http-retry.ts";
import { CrashMonitor } from "./crash-monitor.ts";
import notify from "./index.ts";
import { type Message, MessageBatcher, MessageDigest, type MessageEvent } from "./message-batcher.ts";
import { slack } from "./targets.ts";

const crash = (process: string, times = 1): MessageEvent => ({
  kind: "crash",
  process,
  time: "",
  text: `exited; restart`,
  times,
});
const incident = (more: Partial<Incident>): Incident => ({
  ...{
    time: "2026-01-01T00:00:01.000Z",
    process: "web",
    run: 1,
    cause: "exit",
    code: 1,
    reason: "exited with code 1",
    decision: "restart 1 at once",
  },
  ...{ lines: [], metrics: [] },
  ...more,
});
const record = (more: Partial<ProcessRecord>): ProcessRecord =>
  ({
    id: "web",
    type: "process",
    status: "running",
    blocked: false,
    restarts: 0,
    reason: "its 2 restarts are used up",
    ...more,
  }) as ProcessRecord;

test("events are counted by process and kind; the worst come first; beyond 20 lines only the number is given", () => {
  const digest = new MessageDigest("shop on host");
  for (let number = 0; number < 30; number += 1) digest.add(crash(`p${number}`));
  for (let number = 0; number < 4; number += 1) digest.add(crash("p0", 10));
  digest.add({ ...crash("job"), kind: "exhausted", text: "used up" });
  const { title, text } = digest.take();
  assert.equal(title, "procman shop on host: job exhausted, 30 processes crashed");
  const lines = text.split("\n");
  assert.deepEqual(
    [lines[0], lines[1], lines.at(-1), lines.length],
    ["job exhausted: used up", "p0 crashed 41 times: exited; restart", "and 11 more", 21],
  );
  assert.ok(digest.isEmpty);
});

test("many events are one message, and messages become rarer; after a quiet time the delay is short again", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  const pass = async (ms: number): Promise<void> => {
    now += ms;
    mock.timers.tick(ms);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  };
  const sent: Message[] = [];
  const batcher = new MessageBatcher({
    source: "x",
    groupMs: 1_000,
    send: async (message) => void sent.push(message),
    onIdle: () => undefined,
    now: () => now,
  });
  for (let step = 0; step < 7_000; step += 10) {
    batcher.add(crash("web"));
    await pass(10);
  }
  assert.deepEqual(
    sent.map(({ happenings }) => happenings[0]?.times),
    [100, 200, 400],
    "after 1, 2 and 4 seconds",
  );
  await pass(20_000);
  batcher.add(crash("web"));
  await pass(1_000);
  assert.equal(sent.length, 4);
  mock.timers.reset();
});

test("each crash that was not requested is reported once, as are exhaustion and recovery", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const messages: string[] = [];
  const notify = ({ process, kind, text }: MessageEvent): void => void messages.push(`${process} ${kind}: ${text}`);
  const initial = { since: "2026-01-01T00:00:00.000Z", latest: {}, down: [], exhausted: [] };
  const monitor = new CrashMonitor({
    state: initial,
    kinds: new Set(["crash", "exhausted", "recovered"]),
    processes: new Set(),
    recoveredMs: 5_000,
    notify,
  });
  const first = incident({});
  monitor.begin([record({ status: "backoff" })], [first, incident({ time: "2025-12-31T00:00:00.000Z" })]);
  for (const each of [first, incident({ process: "a", code: 0 }), incident({ process: "b", cause: "operator" })])
    monitor.onIncident(each);
  monitor.onIncident(incident({ process: "c", code: 3, success: true }));
  assert.deepEqual(messages.splice(0), ["web crash: exited with code 1; restart 1 at once"]);
  monitor.onState(record({}));
  mock.timers.tick(4_000);
  monitor.onState(record({ status: "backoff" }));
  monitor.onState(record({}));
  mock.timers.tick(4_999);
  assert.deepEqual(messages, []);
  mock.timers.tick(1);
  assert.deepEqual(messages.splice(0), ["web recovered: it has been up for 5 s"]);
  for (const _ of [1, 2]) monitor.onState(record({ status: "exhausted" }));
  mock.timers.tick(3_000);
  assert.deepEqual(messages, ["web exhausted: its 2 restarts are used up"]);
  assert.deepEqual(monitor.state.down, ["web"]);
  messages.splice(0);
  const later = (more: Partial<Incident>): void => monitor.onIncident(incident({ process: "job", ...more }));
  monitor.onState(record({ id: "job", status: "exhausted", run: 3 }));
  later({ time: "2026-01-02T00:00:01.000Z", run: 2 });
  later({ time: "2026-01-02T00:00:02.000Z", run: 3 });
  assert.deepEqual(messages.splice(0), [
    "job crash: exited with code 1; restart 1 at once",
    "job exhausted: its 2 restarts are used up",
  ]);
  const faults = ["unready", "unhealthy", "memory"] as const;
  for (const [index, cause] of faults.entries())
    later({ time: `2026-01-03T00:00:0${index}.000Z`, run: 4 + index, cause });
  assert.equal(messages.length, faults.length, "runs that procman itself has ended count as crashes, too");
  mock.timers.reset();
});

test("refused growth is reported once while it lasts, and when it is over", () => {
  const messages: string[] = [];
  const monitor = new CrashMonitor({
    ...{ state: { since: "2026-01-01T00:00:00.000Z", latest: {}, down: [], exhausted: [] }, recoveredMs: 5_000 },
    ...{ kinds: new Set(["crash", "exhausted", "growth", "recovered"]), processes: new Set(["web"]) },
    notify: ({ process, kind, text }) => void messages.push(`${process} ${kind}: ${text}`),
  });
  const refused = incident({
    run: 0,
    cause: "growth-refused",
    reason: "stays at 4: x",
    decision: "no instance is added",
  });
  const over = { ...refused, ended: "2026-01-01T00:01:01.000Z", decision: "it has 5 instances now" };
  for (const each of [refused, refused, { ...refused, process: "other" }]) monitor.onIncident(each);
  assert.deepEqual(messages.splice(0), ["web growth: stays at 4: x"]);
  for (const each of [over, over]) monitor.onIncident(each);
  assert.deepEqual(messages.splice(0), ["web recovered: it has 5 instances now"]);
  assert.deepEqual(monitor.state.down, []);
});

test("exhaustion is reported after the crashes before it: it waits for the incident of its run, for 3 seconds at most", (context) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  context.after(() => mock.timers.reset());
  const kinds: string[] = [];
  const monitor = new CrashMonitor({
    ...{
      state: { since: "2026-01-01T00:00:00.000Z", latest: {}, down: [], exhausted: [] },
      processes: new Set(),
      recoveredMs: 5_000,
    },
    kinds: new Set(["crash", "exhausted", "recovered"]),
    notify: ({ process, kind }) => void kinds.push(`${process} ${kind}`),
  });
  const ended = (process: string, run: number): void =>
    monitor.onIncident(incident({ process, run, time: `2026-01-02T00:00:0${run}.000Z` }));
  monitor.onState(record({ status: "exhausted", run: 3 }));
  assert.deepEqual(monitor.state.exhausted, [], "a waiting message is not lost if the plugin is killed now");
  for (const run of [1, 2]) ended("web", run);
  assert.deepEqual(kinds.splice(0), ["web crash", "web crash"]);
  ended("web", 3);
  assert.deepEqual([kinds.splice(0), monitor.state.exhausted], [["web exhausted"], ["web"]]);
  ended("seen", 3);
  monitor.onState(record({ id: "seen", status: "exhausted", run: 3 }));
  assert.deepEqual(kinds.splice(0), ["seen crash", "seen exhausted"], "its incident was there before");
  monitor.onState(record({ id: "late", status: "exhausted", run: 1 }));
  mock.timers.tick(2_999);
  assert.deepEqual(kinds.splice(0), []);
  mock.timers.tick(1);
  assert.deepEqual(kinds.splice(0), ["late exhausted"]);
  monitor.onState(record({ id: "back", status: "exhausted", run: 1 }));
  monitor.onState(record({ id: "back", status: "running", run: 2 }));
  assert.deepEqual(kinds.splice(0), ["back exhausted"]);
  monitor.onState(record({ id: "last", status: "exhausted", run: 1 }));
  monitor.close();
  assert.deepEqual(kinds, ["last exhausted"]);
});

test("Slack's special characters are escaped", () => {
  assert.deepEqual(slack({ title: "a & b", text: "<x>\ny", happenings: [] }), {
    text: "*a &amp; b*\n• &lt;x&gt;\n• y",
  });
});

test("Retry-After is seconds or a date", () => {
  assert.deepEqual(
    [retryAfter(null), retryAfter("3"), retryAfter("x"), retryAfter("Thu, 01 Jan 1970 00:00:09 GMT", 4_000)],
    [undefined, 3_000, undefined, 5_000],
  );
});

test("a webhook that fails gets the message later, with all events of the meantime; a restart loses nothing that was not sent", async (context) => {
  const bodies: { readonly title: string; readonly text: string; readonly source: string }[] = [];
  let status = 503;
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => {
      text += part;
    });
    request.on("end", () => {
      if (status === 200) bodies.push(JSON.parse(text));
      response.writeHead(status, { "retry-after": "0" }).end();
      server.emit("asked");
    });
  }).listen(0, "127.0.0.1");
  context.after(() => server.close());
  await once(server, "listening");
  const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
  const rig = await testPlugin(notify, {
    options: { webhook, groupSeconds: 0, recoveredAfterSeconds: 0, headers: { "x-key": "1" } },
  });
  await rig.emit({
    id: "1",
    time: "",
    type: "process.incident",
    incident: incident({ time: new Date().toISOString() }),
  });
  await once(server, "asked");
  status = 200;
  while (bodies.length === 0) await once(server, "asked");
  assert.match(bodies[0]?.title ?? "", /^procman test on .*: web crashed$/);
  assert.equal(bodies[0]?.source, "procman");
  assert.ok(rig.said.some(({ text }) => /Cannot post to the webhook: it answered with 503/.test(text)));
  await rig.close();
});

test("what was before the reload that has added the plugin is not reported", async (context) => {
  const state = {
    started: "2026-01-01T00:00:00.000Z",
    lastReload: { time: "2026-01-01T01:00:00.000Z", why: "SIGHUP", result: "running" },
  } as StateRecord;
  const incidents = [
    incident({ process: "late", time: "2026-01-01T01:00:00.500Z" }),
    incident({ process: "early", time: "2026-01-01T00:59:59.000Z" }),
  ];
  const folder = mkdtempSync(join(tmpdir(), "procman-notify-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  process.env.OUT = folder;
  const rig = await testPlugin(notify, {
    folder,
    options: { command: 'cat > "$OUT/got"', groupSeconds: 0 },
    control: { state: async () => state, incidents: async () => incidents },
  });
  assert.match(await written(join(folder, "got")), /^procman test on .*: late crashed\n\nlate crashed: .*\n$/);
  await rig.close();
});

/** The text of a file, when there is one. */
async function written(file: string): Promise<string> {
  for (;;) {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (text !== "") return text;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a command gets title and text on its standard input", async () => {
  const rig = await testPlugin(notify, { options: { command: 'cat > "$OUT/got"; exit 0', groupSeconds: 0 } });
  process.env.OUT = rig.folder;
  await rig.emit({
    id: "1",
    time: "",
    type: "process.incident",
    incident: incident({ time: new Date().toISOString() }),
  });
  assert.match(
    await written(join(rig.folder, "got")),
    /^procman test on .*: web crashed\n\nweb crashed: exited with code 1; restart 1 at once\n$/,
  );
  await rig.close();
});

test("without a target it says what is missing", async () => {
  await assert.rejects(testPlugin(notify, {}), /neither "webhook" nor "command"/);
});
