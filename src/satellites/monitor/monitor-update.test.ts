/** What keys and news do to the monitor. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { processRecord } from "../../../test/support/process-record.ts";
import type { LogItem, ProcessRecord } from "../../core/contract/records.ts";
import type { Incident } from "../../core/contract/run-summary.ts";
import type { KeyPress } from "./key-parser.ts";
import { KEPT_LINES } from "./log-lines.ts";
import { followedId, visibleRows } from "./monitor-layout.ts";
import { initialModel, type MonitorEffect, type MonitorInput, type MonitorModel } from "./monitor-model.ts";
import { update } from "./monitor-update.ts";
import type { RowChoice } from "./process-rows.ts";
import { statusText } from "./status-line.ts";

const NOW = Date.parse("2026-11-21T10:00:00Z");

function record(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  return processRecord(id, { pid: 7, ...more });
}

const CLUSTER = record("web", {
  type: "cluster",
  instances: [
    record("web-1", { cluster: "web", instance: 1 }),
    record("web-2", { cluster: "web", instance: 2, status: "errored" }),
  ],
});
const RECORDS = [
  CLUSTER,
  record("mail", { groups: ["back"], cpuPercent: 20 }),
  record("job", { status: "backoff", cpuPercent: 50 }),
];

const AS_IN_FILE: RowChoice = { sort: "file", isReversed: false, filter: "" };

/** Applies inputs; collects the effects. */
class Session {
  model: MonitorModel = { ...initialModel({ columns: 80, rows: 24 }, NOW), choice: AS_IN_FILE };
  readonly effects: MonitorEffect[] = [];

  constructor(records: readonly ProcessRecord[] = RECORDS) {
    this.give({ type: "connection", connection: { state: "open" }, now: NOW });
    this.give({ type: "service", name: "shop" });
    this.give({ type: "processes", records, now: NOW });
  }

  give(input: MonitorInput): this {
    const step = update(this.model, input);
    this.model = step.model;
    this.effects.push(...step.effects);
    return this;
  }

  /** Names of keys, or characters. */
  keys(...keys: readonly string[]): this {
    for (const key of keys)
      this.give({ type: "key", key: (key.length === 1 ? { name: "text", text: key } : { name: key }) as KeyPress });
    return this;
  }

  get ids(): readonly string[] {
    return this.model.rows.map(({ id }) => id);
  }
}

function line(text: string): LogItem {
  const entry = {
    time: "2026-11-21T10:00:00.000Z",
    process: "mail",
    severity: "info",
    category: "stdout",
    text,
  } as const;
  return { type: "entry", entry, cursor: text };
}

function withLog(...texts: readonly string[]): Session {
  const session = new Session().give({ type: "log-begin", id: "web" });
  return session.give({ type: "log", id: "web", items: texts.map(line) });
}

test("the first process is selected; keys move the selection to the ends of the table and no further", () => {
  const session = new Session();
  assert.equal(session.model.selected, "web");
  assert.equal(session.keys("up").model.selected, "web");
  assert.equal(session.keys("down", "j").model.selected, "web-2");
  assert.equal(session.keys("end").model.selected, "job");
  assert.equal(session.keys("down").model.selected, "job");
  assert.equal(session.keys("g").model.selected, "web");
  assert.equal(session.keys("pagedown").model.selected, "job");
});

test("the selected process stays selected when others come, and is on the screen; if it is removed, the next one is", () => {
  const session = new Session().keys("down", "down", "down");
  const before = Array.from({ length: 100 }, (_, index) => record(`new-${index}`));
  session.give({ type: "processes", records: [...before, ...RECORDS], now: NOW });
  assert.equal(session.model.selected, "mail");
  assert.ok(visibleRows(session.model).some(({ id }) => id === "mail"));
  session.give({ type: "processes", records: [...before, CLUSTER, record("job")], now: NOW });
  assert.equal(session.model.selected, "job");
  session.give({ type: "processes", records: [], now: NOW });
  assert.equal(session.model.selected, undefined);
  assert.deepEqual(session.keys("down", "enter", "s").effects, []);
});

test("five thousand processes are scrolled through within a second of a processor", () => {
  const session = new Session(
    Array.from({ length: 5_000 }, (_, index) => record(`p-${index}`, { cpuPercent: index % 7 })),
  );
  const began = process.cpuUsage();
  for (let key = 0; key < 300; key += 1) session.keys("down");
  assert.equal(session.model.selected, "p-300");
  assert.ok(visibleRows(session.model).some(({ id }) => id === "p-300"));
  assert.equal(session.keys("end").model.selected, "p-4999");
  const { user, system } = process.cpuUsage(began);
  assert.ok(user + system < 1_000_000);
});

test("the filter takes ids, states, groups and remarks, while it is typed; Escape undoes it, Enter keeps it", () => {
  const session = new Session().keys("f", "m", "a");
  assert.deepEqual(session.ids, ["mail"]);
  assert.deepEqual(session.keys("escape").ids, ["web", "web-1", "web-2", "mail", "job"]);
  assert.deepEqual(session.keys("f", ..."errored", "enter").ids, ["web", "web-2"]);
  assert.equal(session.model.mode.name, "list");
  assert.deepEqual(session.keys("escape").ids, ["web", "web-1", "web-2", "mail", "job"]);
  assert.deepEqual(session.keys("f", ..."group:back").ids, ["mail"]);
  assert.deepEqual(session.keys("clear").ids.length, 5);
  session.give({ type: "key", key: { name: "paste", text: "jo\u0007b" } });
  assert.deepEqual(session.keys("backspace").ids, ["job"]);
});

test("o sorts: by state, by what uses most, what is in trouble first; O turns it round; instances stay with their cluster", () => {
  const session = new Session();
  const orders = ["state", "cpu", "memory", "restarts", "id", "trouble", "file"].map((sort) => {
    session.keys("o");
    assert.equal(session.model.choice.sort, sort);
    return session.ids;
  });
  assert.deepEqual(orders[0], ["job", "web", "web-2", "web-1", "mail"]);
  assert.deepEqual(orders[1], ["job", "mail", "web", "web-1", "web-2"]);
  assert.deepEqual(orders[4], ["job", "mail", "web", "web-1", "web-2"]);
  assert.deepEqual(orders[5], ["web", "web-2", "web-1", "job", "mail"]);
  assert.deepEqual(session.keys("O").ids, ["job", "mail", "web", "web-1", "web-2"]);
});

test("each action is asked for, and done after y alone: a command that was typed by mistake does nothing", () => {
  const asked = new Session().keys("x");
  assert.ok(asked.model.mode.name === "confirm");
  assert.equal(asked.model.mode.question.text, "Stop web (2 instances)?");
  assert.deepEqual(asked.keys("enter").effects, []);
  assert.equal(asked.model.notice?.text, "Nothing was done.");
  assert.deepEqual(asked.keys("x", "y").effects, [{ type: "act", id: "web", action: "stop", hard: false }]);
  for (const key of ["s", "r", "R", "b", "d", "+", "-"])
    assert.equal(new Session().keys(key).model.mode.name, "confirm", key);
  assert.deepEqual(new Session().keys("R", "y").effects, [{ type: "act", id: "web", action: "restart", hard: true }]);
  assert.deepEqual(new Session().keys("-", "y").effects, [{ type: "scale", id: "web", by: -1 }]);
  const job = new Session().keys("end", "s");
  assert.deepEqual(job.keys("y").effects, [{ type: "act", id: "job", action: "start", hard: false }]);
  const typed = new Session().keys("end", ..."clear; procman status", "enter", ..."docker ps");
  assert.deepEqual(typed.effects, []);
});

test("a block and a disabled process are taken back by the same key", () => {
  const session = new Session([record("web", { blocked: true, disabled: true })]).keys("b", "y", "d", "y");
  assert.deepEqual(
    session.effects.map((effect) => effect.type === "act" && effect.action),
    ["unblock", "enable"],
  );
});

test("Q asks, with the number of processes, and stops procman after y alone", () => {
  const session = new Session().keys("Q");
  assert.ok(session.model.mode.name === "confirm");
  assert.equal(session.model.mode.question.text, 'Stop procman "shop" and its 4 running processes?');
  assert.deepEqual(session.keys("enter", "Q", "n").effects, []);
  assert.deepEqual(session.keys("Q", "y").effects, [{ type: "terminate" }]);
});

test("what can't be done is said, not asked for", () => {
  assert.match(new Session().keys("end", "+").model.notice?.text ?? "", /^Cannot scale job: it is not a cluster$/);
  assert.match(new Session().keys("down", "+").model.notice?.text ?? "", /it is an instance; select its cluster web$/);
  const one = new Session([record("web", { type: "cluster", instances: [record("web-1", { cluster: "web" })] })]);
  assert.match(one.keys("-").model.notice?.text ?? "", /to 0 instances: stop it instead$/);
  assert.equal(new Session([record("web")]).keys("s").model.notice?.text, 'Cannot start "web": it is already running');
  const lost = new Session()
    .give({ type: "connection", connection: { state: "lost", since: NOW }, now: NOW })
    .keys("s");
  assert.match(lost.model.notice?.text ?? "", /the connection to procman is lost/);
  assert.deepEqual(lost.effects, []);
});

test("i opens a line for a process: Enter sends it, Up brings it back, a paste is sent line by line, Escape ends it", () => {
  const typing = new Session([record("mail", { input: true })]).keys("a", "i", "l", "x", "backspace", "s");
  assert.equal(statusText(typing.model), "mail> ls");
  assert.equal(typing.model.isLogOfAll, false);
  typing.keys("enter", "up", "enter", "enter").give({ type: "key", key: { name: "paste", text: "a\rb\u0007\rc" } });
  assert.equal(statusText(typing.model), "mail> c");
  const texts = typing.effects.map((effect) => (effect.type === "send" ? `${effect.id} ${effect.text}` : effect.type));
  assert.deepEqual(texts, ["mail ls\n", "mail ls\n", "mail \n", "mail a\n", "mail b\n"]);
  assert.equal(typing.keys("escape").model.mode.name, "list");
});

test("a refused line is said until the next key; what takes no input is said at once, as is a cluster", () => {
  const typing = new Session([record("mail", { input: true })]).keys("i", "a", "enter");
  typing.give({ type: "notice", notice: { text: "it has closed its input", isProblem: true } });
  assert.equal(statusText(typing.model), "it has closed its input");
  assert.equal(statusText(typing.keys("up").model), "mail> a");
  const refused = new Session([record("mail")]).keys("i");
  assert.match(statusText(refused.model), /^Cannot type into mail: it takes no input; set "stdin": true for it$/);
  assert.equal(statusText(new Session().keys("i").model), "Cannot type into web: it is a cluster; select an instance");
});

test("a refusal stays until a key is pressed, a result for a while", () => {
  const session = new Session().give({ type: "notice", notice: { text: "Cannot start", isProblem: true } });
  assert.equal(session.give({ type: "tick", now: NOW + 60_000 }).model.notice?.text, "Cannot start");
  assert.equal(session.keys("down").model.notice, undefined);
  session.give({ type: "notice", notice: { text: "done", isProblem: false, until: NOW + 100_000 } }).keys("down");
  assert.equal(session.model.notice?.text, "done");
  assert.equal(session.give({ type: "tick", now: NOW + 100_000 }).model.notice, undefined);
});

test("q and Ctrl-C quit, the second in any mode; Ctrl-Z suspends", () => {
  assert.deepEqual(new Session().keys("q").effects, [{ type: "quit" }]);
  for (const mode of ["f", "/", "x", "?", "enter"]) {
    const session = new Session().keys(mode, "interrupt", "suspend", "redraw");
    assert.deepEqual(session.effects.slice(-3), [{ type: "quit" }, { type: "suspend" }, { type: "redraw" }], mode);
  }
});

test("text that is pasted into the table does nothing", () => {
  const session = new Session().give({ type: "key", key: { name: "paste", text: "xyq" } });
  assert.deepEqual([session.effects, session.model.mode.name], [[], "list"]);
});

test("the log follows, until it is scrolled: then lines stay in place, and new ones are counted", () => {
  const texts = Array.from({ length: 50 }, (_, index) => `line ${index}`);
  const session = withLog(...texts).keys("tab", "pageup");
  const { below } = session.model.log;
  assert.ok(below > 0);
  session.give({ type: "log", id: "web", items: [line("new")] });
  assert.equal(session.model.log.below, below + 1);
  assert.equal(session.keys("end").model.log.below, 0);
  session.give({ type: "log", id: "web", items: [line("newer")] });
  assert.equal(session.model.log.below, 0);
  session.keys("home");
  assert.equal(session.keys("escape").model.log.below, 0);
});

test("of the log the last lines are kept; lines of a process that is no longer selected are dropped", () => {
  const session = withLog(...Array.from({ length: KEPT_LINES + 10 }, (_, index) => `line ${index}`));
  assert.deepEqual([session.model.log.lines.length, session.model.log.lines[0]?.text], [KEPT_LINES, "line 10"]);
  session.give({ type: "log-begin", id: "mail" }).give({ type: "log", id: "web", items: [line("late")] });
  assert.deepEqual(session.model.log.lines, []);
});

test("a line of JSON is shown as level, message and key=value, with the color of its level", () => {
  const [shown] = withLog('{"level":30,"msg":"up","port":80}').model.log.lines;
  assert.equal(shown?.text, "INFO  up port=80");
  assert.deepEqual(shown?.colors?.[0], { at: 0, style: { color: 2 } });
});

test("a search shows the newest hit; n and N step to older and newer ones, round the ends; Escape ends it", () => {
  const session = withLog("one error", "two", "three ERROR", "four", "five error").keys("/", ..."error", "enter");
  const hit = (): string | undefined =>
    session.model.log.lines.find(({ number }) => number === session.model.log.hit)?.text;
  assert.equal(hit(), "five error");
  session.keys("n");
  assert.equal(hit(), "three ERROR");
  session.keys("n", "n");
  assert.equal(hit(), "five error");
  session.keys("N");
  assert.equal(hit(), "one error");
  assert.equal(session.keys("escape").model.log.search, "");
  session.keys("/", ..."nowhere", "enter");
  assert.match(
    session.model.notice?.text ?? "",
    /^No line of the last 2000 has "nowhere"; "procman logs web --search TEXT"/,
  );
});

test("hits are scrolled into the middle of the pane", () => {
  const session = withLog("hit", ...Array.from({ length: 100 }, (_, index) => `line ${index}`)).keys(
    "/",
    ..."hit",
    "enter",
  );
  const { log } = session.model;
  const first = log.lines.length - log.below;
  assert.ok(first >= 1 && first < 20, `${first}`);
});

test("the log is that of the selected process, none while it is switched off or has no room", () => {
  const session = new Session().keys("down");
  assert.equal(followedId(session.model), "web-1");
  assert.equal(followedId(session.keys("l").model), undefined);
  assert.equal(followedId(session.keys("/").model), "web-1");
  assert.equal(followedId(session.give({ type: "resize", size: { columns: 80, rows: 8 } }).model), undefined);
});

test("Enter asks for the details, an incident of the process that is shown asks again, and what comes for another is dropped", () => {
  const session = new Session().keys("enter");
  assert.deepEqual(session.effects, [{ type: "inspect", id: "web" }]);
  session.give({ type: "detail", id: "mail", answer: { incidents: [], points: [] } });
  assert.ok(session.model.mode.name === "detail" && session.model.mode.answer === undefined);
  const incident = { process: "web-2" } as Incident;
  assert.equal(session.give({ type: "incident", incident }).effects.length, 2);
  assert.equal(session.give({ type: "incident", incident: { ...incident, process: "mail" } }).effects.length, 2);
  assert.equal(session.keys("escape").model.mode.name, "list");
});

test("the details are scrolled to their last line and no further", () => {
  const many = Array.from({ length: 100 }, (_, index) => record(`web-${index + 1}`, { cluster: "web" }));
  const session = new Session([{ ...CLUSTER, instances: many }]).keys("enter");
  session.give({ type: "detail", id: "web", answer: { incidents: [], points: [] } }).keys("end");
  assert.ok(session.model.mode.name === "detail");
  const { scroll } = session.model.mode;
  assert.ok(scroll > 50 && scroll < 110);
  session.keys("down", "pagedown");
  assert.ok(session.model.mode.name === "detail" && session.model.mode.scroll === scroll);
});

test("a loss keeps its beginning over several attempts; that it is over is said, with its length", () => {
  const session = new Session();
  session.give({ type: "connection", connection: { state: "lost", since: NOW }, now: NOW });
  session.give({
    type: "connection",
    connection: { state: "lost", since: NOW + 900, why: "gone", retryAt: NOW + 3_000 },
    now: NOW + 900,
  });
  session.give({ type: "connection", connection: { state: "open" }, now: NOW + 2_500 });
  assert.equal(session.model.notice?.text, "Reconnected after 2.5 s");
});

test("a click selects a row, the wheel scrolls what is below the mouse", () => {
  const session = withLog(...Array.from({ length: 50 }, (_, index) => `line ${index}`));
  session.give({ type: "key", key: { name: "click", row: 5, column: 3 } });
  assert.equal(session.model.selected, "mail");
  session.give({ type: "key", key: { name: "click", row: 23, column: 3 } });
  assert.equal(session.model.selected, "mail");
  session.give({ type: "key", key: { name: "wheelup", row: 20, column: 3 } });
  assert.equal(session.model.log.below, 3);
  session.give({ type: "key", key: { name: "wheeldown", row: 2, column: 3 } });
  assert.equal(session.model.selected, "job");
});

test("curves have what was seen, and before it what the service has kept", () => {
  const session = new Session([record("web", { cpuPercent: 4, memoryBytes: 10 })]);
  session.give({ type: "processes", records: [record("web", { cpuPercent: 6, memoryBytes: 20 })], now: NOW + 5_000 });
  const time = new Date(NOW - 5_000).toISOString();
  session.give({ type: "history", id: "web", points: [{ time, cpuPercent: 2, memoryBytes: 5, processes: 1 }] });
  assert.deepEqual(
    session.model.histories.get("web")?.map(({ cpuPercent }) => cpuPercent),
    [2, 4, 6],
  );
});

test("what comes into trouble goes to the top, and the selected process stays selected", () => {
  const start = initialModel({ columns: 80, rows: 24 }, NOW);
  const give = (model: MonitorModel, records: readonly ProcessRecord[]): MonitorModel =>
    update(model, { type: "processes", records, now: NOW }).model;
  const calm = give(start, [record("web"), record("mail"), record("job")]);
  assert.equal(calm.selected, "web");
  const troubled = give(calm, [
    record("web"),
    record("mail", { healthy: false }),
    record("job", { status: "backoff" }),
  ]);
  assert.deepEqual(
    troubled.rows.map(({ id }) => id),
    ["mail", "job", "web"],
  );
  assert.equal(troubled.selected, "web");
});

test("a shows the log of all processes whatever is selected, also if the log was off, and again that of the selected one", () => {
  const session = new Session().keys("a");
  assert.equal(followedId(session.model), "all");
  assert.equal(followedId(session.keys("down").model), "all");
  assert.equal(followedId(session.keys("a").model), "web-1");
  assert.equal(followedId(session.keys("l", "a").model), "all");
  session.give({ type: "log-begin", id: "all" }).keys("/", ..."nowhere", "enter");
  assert.match(session.model.notice?.text ?? "", /"procman logs --search TEXT" searches all/);
});
