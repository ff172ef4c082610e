/** The monitor's side of the API: what comes in, and what is done when it is refused or lost. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";
import { Client } from "../../client/client.ts";
import { fetchSend } from "../../client/transport.ts";
import type { EventRecord, EventType } from "../../core/contract/event-record.ts";
import type { Claims } from "../../core/contract/token-claims.ts";
import { LiveFeed } from "./live-feed.ts";
import { initialModel, type MonitorInput, type MonitorModel } from "./monitor-model.ts";
import { update } from "./monitor-update.ts";

/** The fake log of events has no times as ids. */
class FromNow extends Client {
  override events(
    _after: string | undefined,
    signal: AbortSignal,
    types?: readonly EventType[],
  ): AsyncIterable<EventRecord> {
    return super.events(undefined, signal, types);
  }
}

type Session = {
  readonly rig: ApiRig;
  readonly feed: LiveFeed;
  readonly running: Promise<void>;
  /** Waits for a model. */
  readonly until: (isSo: (model: MonitorModel) => boolean) => Promise<MonitorModel>;
};

async function session(context: TestContext, claims: Partial<Claims> = {}, logProblem?: string): Promise<Session> {
  const rig = await startApi(context);
  const waiting = new Set<() => void>();
  let model = initialModel({ columns: 80, rows: 24 }, Date.now());
  const feed = new LiveFeed({
    connect: async (observer) => new FromNow(fetchSend({ url: rig.url, token: rig.token(claims) }), observer),
    logProblem: () => logProblem,
    dispatch: (input: MonitorInput) => {
      ({ model } = update(model, input));
      for (const call of [...waiting]) call();
    },
  });
  context.after(() => feed.close());
  await feed.open();
  const until: Session["until"] = (isSo) =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isSo(model)) return;
        waiting.delete(look);
        resolve(model);
      };
      waiting.add(look);
      look();
    });
  return { rig, feed, running: feed.run(), until };
}

function statusOf({ records }: MonitorModel, id: string): string | undefined {
  return records.find((record) => record.id === id)?.status;
}

test("the first answer has all processes, each event brings what has changed", async (context) => {
  const { rig, until } = await session(context);
  const first = await until(({ records }) => records.length > 0);
  assert.deepEqual(
    first.rows.map(({ id }) => id),
    ["web", "job", "pair", "pair-1", "pair-2"],
  );
  assert.deepEqual([first.name, first.connection.state], ["test", "open"]);
  rig.rig.supervisor.find("web").stop();
  rig.rig.reporting.addEvent();
  await until((model) => statusOf(model, "web") === "stopping");
});

test("an action is carried out, its result is said", async (context) => {
  const { rig, feed, until } = await session(context);
  feed.ask({ type: "act", id: "job", action: "block", hard: false });
  const { notice } = await until((model) => model.notice?.text.includes("blocked") === true);
  assert.deepEqual([notice?.text, notice?.isProblem], ["block job: running, blocked (pid 102)", false]);
  assert.ok(rig.rig.auditLines.some((line) => line.includes('block for "ci"')));
  feed.ask({ type: "scale", id: "pair", by: 1 });
  await until((model) => model.notice?.text.startsWith("scale pair: running") === true);
  assert.deepEqual(rig.rig.scales, ['pair {"by":1}']);
});

test("lines are typed into a process in order; one that isn't taken says why", async (context) => {
  const { rig, feed, until } = await session(context, { scopes: ["read", "input"] });
  for (const text of ["one\n", "two\n"]) feed.ask({ type: "send", id: "web", text });
  feed.ask({ type: "send", id: "wbe", text: "x" });
  const { notice } = await until((model) => model.notice?.isProblem === true);
  assert.match(notice?.text ?? "", /^Cannot find process "wbe".*Did you mean "web"\?$/);
  await until(() => rig.rig.inputs.length === 2);
  assert.deepEqual(rig.rig.inputs, ["web one\n", "web two\n"]);
});

test("with a token that may only read, an action says which permission it lacks", async (context) => {
  const { feed, until } = await session(context, { scopes: ["read"] });
  feed.ask({ type: "act", id: "web", action: "stop", hard: false });
  const { notice } = await until((model) => model.notice?.isProblem === true);
  assert.match(notice?.text ?? "", /scope.*control/);
  assert.equal(notice?.until, undefined);
});

test("with a token for one process, that one is seen, and an action on another is refused", async (context) => {
  const { feed, until } = await session(context, {
    scopes: ["read", "control"],
    limits: { processes: ["web"], groups: [] },
  });
  const { rows } = await until(({ records }) => records.length > 0);
  assert.deepEqual(
    rows.map(({ id }) => id),
    ["web"],
  );
  feed.ask({ type: "act", id: "job", action: "stop", hard: false });
  assert.match(
    (await until((model) => model.notice?.isProblem === true)).notice?.text ?? "",
    /^Cannot find process "job"/,
  );
});

test("an action that the state refuses says why", async (context) => {
  const { feed, until } = await session(context);
  feed.ask({ type: "act", id: "web", action: "start", hard: false });
  assert.match(
    (await until((model) => model.notice?.isProblem === true)).notice?.text ?? "",
    /^Cannot start "web": it is already running/,
  );
});

test("a token that is revoked while the monitor runs: it says so, tries again, and goes on when it is valid", async (context) => {
  const { rig, until } = await session(context);
  await until(({ connection }) => connection.state === "open");
  rig.revoked.add("ci");
  rig.rig.reporting.addEvent();
  const { connection } = await until(
    (model) => model.connection.state === "lost" && model.connection.retryAt !== undefined,
  );
  assert.ok(connection.state === "lost");
  assert.match(connection.why ?? "", /revoked/);
  rig.revoked.delete("ci");
  const again = await until((model) => model.connection.state === "open");
  assert.match(again.notice?.text ?? "", /^Reconnected after \d+\.\d s$/);
});

test("the log of the selected process is followed; of another one, its lines alone", async (context) => {
  const { rig, feed, until } = await session(context);
  const say = (process: string, text: string): void =>
    rig.rig.logAccess.feed.push({
      time: "2026-01-01T00:00:00.000Z",
      severity: "info",
      category: "stdout",
      process,
      text,
    });
  say("web", "one");
  feed.follow("web");
  await until(({ log }) => log.lines.some(({ text }) => text === "one"));
  assert.deepEqual(rig.rig.logAccess.queries.at(-1)?.processes, ["web"]);
  feed.follow("job");
  say("job", "two");
  const { log } = await until((model) => model.log.lines.some(({ text }) => text === "two"));
  assert.equal(log.id, "job");
  assert.deepEqual(rig.rig.logAccess.queries.at(-1)?.processes, ["job"]);
});

test("the log continues behind its last line after a loss of the connection", async (context) => {
  const { rig, feed, until } = await session(context);
  const say = (text: string): void =>
    rig.rig.logAccess.feed.push({
      time: "2026-01-01T00:00:00.000Z",
      severity: "info",
      category: "stdout",
      process: "web",
      text,
    });
  say("one");
  feed.follow("web");
  await until(({ log }) => log.lines.length === 1);
  rig.revoked.add("ci");
  rig.rig.reporting.addEvent();
  await until(({ connection }) => connection.state === "lost" && connection.retryAt !== undefined);
  rig.revoked.delete("ci");
  await until(({ connection }) => connection.state === "open");
  say("two");
  const { log } = await until((model) => model.log.lines.some(({ text }) => text === "two"));
  assert.deepEqual(
    log.lines.map(({ text }) => text),
    ["one", "two"],
  );
  assert.deepEqual(
    rig.rig.logAccess.queries.map(({ cursor }) => cursor),
    [undefined, "1"],
  );
});

test("the log of all processes is asked for without ids", async (context) => {
  const { rig, feed, until } = await session(context);
  for (const process of ["web", "job"])
    rig.rig.logAccess.feed.push({
      time: "2026-01-01T00:00:00.000Z",
      severity: "info",
      category: "stdout",
      process,
      text: `of ${process}`,
    });
  feed.follow("all");
  const { log } = await until((model) => model.log.lines.length === 2);
  assert.equal(log.id, "all");
  assert.deepEqual(rig.rig.logAccess.queries.at(-1)?.processes ?? [], []);
});

test("procman is stopped by request; with a token that may not, it is said", async (context) => {
  const { rig, feed } = await session(context);
  feed.ask({ type: "terminate" });
  while (rig.rig.terminations.length === 0) await new Promise(setImmediate);
  const limited = await session(context, { scopes: ["read", "control"] });
  limited.feed.ask({ type: "terminate" });
  const { notice } = await limited.until((model) => model.notice?.isProblem === true);
  assert.match(notice?.text ?? "", /scope/);
});

test("without a store, there is the reason in the place of the log", async (context) => {
  const { feed, until } = await session(context, {}, "nothing is stored");
  feed.follow("web");
  assert.equal((await until(({ log }) => log.problem !== undefined)).log.problem, "nothing is stored");
});

test("stored curves are asked for once for each process that is shown", async (context) => {
  const { rig, feed } = await session(context);
  const asked = (): number => rig.rig.reporting.queries.length;
  feed.wantHistories(["web", "job"]);
  while (asked() < 2) await new Promise(setImmediate);
  feed.wantHistories(["web", "job", "pair"]);
  while (asked() < 3) await new Promise(setImmediate);
  assert.equal(asked(), 3);
});

test("the details have incidents and curves; of an unknown process, the reason why not", async (context) => {
  const rig = await startApi(context);
  const answers: MonitorInput[] = [];
  const feed = new LiveFeed({
    connect: async () => rig.client(),
    logProblem: () => undefined,
    dispatch: (input) => void answers.push(input),
  });
  context.after(() => feed.close());
  await feed.open();
  const answer = async (id: string): Promise<MonitorInput | undefined> => {
    const before = answers.length;
    feed.ask({ type: "inspect", id });
    while (answers.length === before) await new Promise(setImmediate);
    return answers.at(-1);
  };
  const found = await answer("web");
  assert.ok(found?.type === "detail" && found.answer.incidents.length === 100 && found.answer.points.length === 1);
  const unknown = await answer("wbe");
  assert.ok(unknown?.type === "detail-problem");
  assert.match(unknown.problem, /Did you mean "web"/);
});

test("a bug ends the monitor with its error instead of another attempt", async (context) => {
  const rig = await startApi(context);
  const feed = new LiveFeed({
    connect: async () => rig.client(),
    logProblem: () => undefined,
    dispatch: () => {
      throw new TypeError("planted");
    },
  });
  context.after(() => feed.close());
  await assert.rejects(feed.run(), /planted/);
});
