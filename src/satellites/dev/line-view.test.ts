/** The lines of `procman dev`: order, prefixes, filters, last lines of a failure, the line below them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LogEntry } from "../../core/contract/records.ts";
import { entryOf } from "./keeper-process.ts";
import { LineView } from "./line-view.ts";

let now = Date.parse("2026-01-01T00:00:00Z");

function line(process: string, text: string, more: Partial<LogEntry> = {}): LogEntry {
  now += 1;
  return { time: new Date(now).toISOString(), process, run: 1, severity: "info", category: "stdout", text, ...more };
}

function failure(process: string, text = "exited with code 3"): LogEntry {
  return line(process, text, { severity: "error", category: "lifecycle" });
}

/** A view whose writes are collected. */
function viewOf({ hasFooter = false, columns = 40, accepts = true } = {}): {
  readonly view: LineView;
  readonly taken: () => string;
  readonly full: () => number;
} {
  let written = "";
  let full = 0;
  const output = {
    columns,
    rows: 10,
    write: (text: string): boolean => {
      written += text;
      return accepts;
    },
  };
  const view = new LineView({
    output,
    colors: false,
    hasFooter,
    onFull: () => {
      full += 1;
    },
  });
  view.reserve(["web", "mail"]);
  const taken = (): string => {
    view.flush();
    const text = written;
    written = "";
    return text;
  };
  return { view, taken, full: () => full };
}

test("lines have the name of their process in front, aligned; those of two pipes are put in the order of their times", () => {
  const { view, taken } = viewOf();
  const [first, second, third] = [
    line("web", "one"),
    line("mail", "two", { category: "stderr" }),
    line("web", "three"),
  ];
  for (const entry of [first, third, second]) view.add(entry);
  assert.equal(taken(), "web     | one\nmail    ! two\nweb     | three\n");
});

test("a filter shows the kept lines of its processes anew, and later lines of them alone; procman's own always", () => {
  const { view, taken } = viewOf();
  for (const id of ["web", "mail", "web"]) view.add(line(id, `of ${id}`));
  taken();
  view.filter(["web"]);
  assert.equal(taken(), "\u001b[2J\u001b[Hweb     | of web\nweb     | of web\n");
  view.add(line("mail", "hidden"));
  view.add({ ...line("", "shown"), process: undefined } as unknown as LogEntry);
  assert.equal(taken(), "procman | shown\n");
  assert.equal(view.filterText, "only web");
  view.filter([]);
  assert.match(taken(), /mail {4}\| hidden/);
});

test("errors only: what is of severity error or warn, until the next toggle", () => {
  const { view, taken } = viewOf();
  view.add(line("web", "fine"));
  view.add(line("web", "bad", { severity: "error", category: "stderr" }));
  taken();
  view.toggleErrors();
  assert.equal(taken(), "\u001b[2J\u001b[Hweb     ! bad\n");
  view.add(line("web", "restart 1", { severity: "warn", category: "lifecycle" }));
  assert.equal(taken(), "web     | restart 1\n");
  view.add(line("web", "fine again"));
  assert.equal(taken(), "");
  view.toggleErrors();
  assert.match(taken(), /fine again/);
});

test("after a failure the last lines of that run are repeated, if lines of others stand between", () => {
  const { view, taken } = viewOf();
  view.add(line("web", "old run", { run: 0 }));
  view.add(line("web", "cause", { category: "stderr", severity: "error" }));
  view.add(line("mail", "between"));
  view.add(failure("web"));
  view.end();
  assert.equal(
    taken(),
    "web     | old run\nweb     ! cause\nmail    | between\nweb     | exited with code 3\nprocman | last lines of web:\nweb     ! cause\n",
  );
});

test("… but not if they stand right above, or right below, as a pipe may bring them", () => {
  for (const order of [
    [line("mail", "before"), line("web", "cause"), failure("web")],
    [line("mail", "before"), failure("web"), line("web", "cause")],
  ]) {
    const { view, taken } = viewOf();
    for (const entry of order) view.add(entry);
    view.end();
    assert.doesNotMatch(taken(), /last lines/);
  }
});

test("the line below is cleared before each write, drawn again, and never wider than the terminal", () => {
  const { view, taken } = viewOf({ hasFooter: true, columns: 12 });
  view.footer("1 running · q end");
  assert.equal(taken(), "\r\u001b[J1 running ·");
  view.add(line("web", "one"));
  assert.equal(taken(), "\r\u001b[Jweb     | one\n1 running ·");
  view.end();
  assert.equal(taken(), "\r\u001b[J");
});

test("while another program has the terminal nothing is written; then all that has come", () => {
  const { view, taken } = viewOf({ hasFooter: true });
  view.leave();
  taken();
  view.add(line("web", "meanwhile"));
  assert.equal(taken(), "");
  view.enter();
  assert.match(taken(), /web {5}\| meanwhile\n$/);
});

test("a reader that is slower is said, so that procman waits", () => {
  const { view, taken, full } = viewOf({ accepts: false });
  view.add(line("web", "one"));
  taken();
  assert.equal(full(), 1);
});

test("what isn't a line of JSON, as an error before the console has its style, is a line of procman", () => {
  assert.deepEqual(
    { ...entryOf("procman: Cannot run"), time: "" },
    {
      time: "",
      severity: "error",
      category: "service",
      text: "Cannot run",
    },
  );
  assert.equal(entryOf('{"time":"2026-01-01T').text, '{"time":"2026-01-01T');
  assert.equal(
    entryOf('{"time":"2026","process":"web","severity":"info","category":"stdout","text":"x"}').process,
    "web",
  );
});
