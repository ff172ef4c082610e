/** What is on the screen. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { processRecord as record } from "../../../test/support/process-record.ts";
import type { LogItem, ProcessRecord } from "../../core/contract/records.ts";
import type { Incident } from "../../core/contract/run-summary.ts";
import type { CellBuffer, ScreenSize } from "./cell-buffer.ts";
import { frameOf } from "./frame.ts";
import type { KeyPress } from "./key-parser.ts";
import { initialModel, type MonitorInput, type MonitorModel } from "./monitor-model.ts";
import { update } from "./monitor-update.ts";
import { paletteFor } from "./palette.ts";
import type { RowChoice } from "./process-rows.ts";
import { loadWidths } from "./text-clusters.ts";

before(loadWidths);

const NOW = Date.parse("2026-11-21T10:00:00Z");
const LONG = "a".repeat(63);

const RECORDS = [
  record("web", {
    pid: 4711,
    started: "2026-11-21T09:00:00Z",
    cpuPercent: 12.5,
    memoryBytes: 48_100_000,
    residentBytes: 90_000_000,
  }),
  record("mail", { status: "errored", restarts: 3, reason: "exited with code 3\u001b[2J" }),
];

function key(text: string): MonitorInput {
  return { type: "key", key: (text.length === 1 ? { name: "text", text } : { name: text }) as KeyPress };
}

const AS_IN_FILE: RowChoice = { sort: "file", isReversed: false, filter: "" };

function modelOf(
  size: ScreenSize,
  records: readonly ProcessRecord[],
  ...inputs: readonly MonitorInput[]
): MonitorModel {
  const first: readonly MonitorInput[] = [
    { type: "connection", connection: { state: "open" }, now: NOW },
    { type: "service", name: "shop", machine: { cpus: 2, totalMemoryBytes: 8e9 } },
    { type: "processes", records, now: NOW },
  ];
  return [...first, ...inputs].reduce<MonitorModel>((model, input) => update(model, input).model, {
    ...initialModel(size, NOW),
    choice: AS_IN_FILE,
  });
}

function entry(text: string, more: object = {}): LogItem {
  const base = {
    time: "2026-11-21T10:00:00.000Z",
    process: "web",
    severity: "info",
    category: "stdout",
    text,
  } as const;
  return { type: "entry", entry: { ...base, ...more }, cursor: "" };
}

function logOf(...items: readonly LogItem[]): readonly MonitorInput[] {
  return [
    { type: "log-begin", id: "web" },
    { type: "log", id: "web", items },
  ];
}

const SMALL: ScreenSize = { columns: 80, rows: 24 };

function linesOf(cells: CellBuffer): readonly string[] {
  return Array.from({ length: cells.rows }, (_, row) => cells.line(row).trimEnd());
}

function screen(...given: Parameters<typeof modelOf>): readonly string[] {
  return linesOf(frameOf(modelOf(...given), paletteFor(true)));
}

test("the screen has a title with counts, the table, the log of the selected process, and the keys", () => {
  const lines = screen(
    SMALL,
    RECORDS,
    ...logOf(entry("GET /"), entry("oops", { category: "stderr", severity: "error" })),
  );
  assert.match(lines[0] ?? "", /^procman shop {2}1 errored {2}1 running +\d\d:\d\d:00$/);
  assert.match(lines[1] ?? "", /^ID +STATUS +PID +UP +CPU +MEMORY +WHY$/);
  assert.match(lines[2] ?? "", /^web +running +4711 +1 h +12\.5 % +48\.1 MB +runs$/);
  assert.match(lines[3] ?? "", /^mail +errored +exited with code 3\\x1b\[2J$/);
  assert.equal(lines[22], "1 of 2 · sorted by file · runs");
  const title = lines.findIndex((line) => line.startsWith("── log of web ─"));
  assert.match(lines[title + 1] ?? "", /^\d\d:00:00 \| GET \/$/);
  assert.match(lines[title + 2] ?? "", /^\d\d:00:00 ! oops$/);
  assert.match(lines[23] ?? "", /^q quit {2}\? help/);
});

test("a wide screen has all columns", () => {
  const lines = screen({ columns: 200, rows: 60 }, RECORDS);
  assert.match(lines[1] ?? "", /^ID +STATUS +PID +UP +CPU +LAST 50 S +MEMORY +LAST 50 S +RSS +RESTARTS +WHY$/);
  assert.match(lines[3] ?? "", /exited with code 3\\x1b\[2J$/);
});

test("columns stay in their places beside wide characters and long ids", () => {
  const lines = screen(SMALL, [record("web"), record(LONG)], ...logOf(entry("日本語 👩‍👩‍👧|end")));
  const column = lines[1]?.indexOf("STATUS") ?? -1;
  for (const row of [2, 3]) assert.equal(lines[row]?.slice(column, column + 7), "running");
  assert.match(lines[3] ?? "", /^a+…a+ /);
  const cells = frameOf(modelOf(SMALL, RECORDS, ...logOf(entry("日本語 👩‍👩‍👧|end"))), paletteFor(true));
  const row = linesOf(cells).findIndex((line) => line.includes("日本語"));
  assert.equal(cells.texts[row * 80 + 11 + 9], "|");
});

test("an empty configuration, and a filter that nothing matches, are said with the remedy", () => {
  assert.match(screen(SMALL, [])[2] ?? "", /^No processes: the configuration has none\. "procman add/);
  assert.match(screen(SMALL, RECORDS, key("f"), key("z"))[2] ?? "", /^No process matches "z"; Escape shows all$/);
});

test("that nothing is stored is said in the place of the log", () => {
  const lines = screen(
    SMALL,
    RECORDS,
    { type: "log-begin", id: "web" },
    { type: "log-problem", id: "web", problem: "nothing is stored" },
  );
  assert.ok(lines.includes("nothing is stored"));
});

test("a lost connection is said with the time until the next attempt, and why; old figures have their age", () => {
  const lost = {
    state: "lost",
    since: NOW,
    why: "Cannot reach procman: its service is down",
    retryAt: NOW + 3_000,
  } as const;
  const lines = screen(SMALL, RECORDS, { type: "connection", connection: lost, now: NOW });
  assert.match(lines[0] ?? "", / connection lost, again in 3 s$/);
  assert.equal(lines[22], "Cannot reach procman: its service is down");
  assert.match(screen(SMALL, RECORDS, { type: "tick", now: NOW + 60_000 })[0] ?? "", /as of 60 s ago/);
});

test("a question, an input and a refusal are in the line above the keys", () => {
  assert.equal(screen(SMALL, RECORDS, key("x"))[22], "Stop web? [y/N]");
  assert.equal(screen(SMALL, RECORDS, key("/"), key("a"))[22], "Search: a");
  const notice = { text: "Cannot start\u001b[2J", isProblem: true } as const;
  assert.equal(screen(SMALL, RECORDS, { type: "notice", notice })[22], "Cannot start\\x1b[2J");
});

test("hits of a search are marked, each with its own columns", () => {
  const model = modelOf(SMALL, RECORDS, ...logOf(entry("日 err err")), key("/"), key("e"), key("r"), key("r"));
  const cells = frameOf(model, paletteFor(true));
  const row = linesOf(cells).findIndex((line) => line.endsWith("err err"));
  const marked = cells.styles
    .slice(row * 80, (row + 1) * 80)
    .flatMap((style, column) => (style === paletteFor(true).hit ? [column] : []));
  assert.deepEqual(marked, [14, 15, 16, 18, 19, 20]);
});

test("the details explain the state, show the curves and list the ends, without what would act on the terminal", () => {
  const line = {
    time: "2026-11-21T09:59:00Z",
    process: "web",
    severity: "info",
    category: "stdout",
    text: "\u001b[31mlast\u001b]0;x\u0007",
  } as const;
  const incident: Incident = {
    ...{
      time: "2026-11-21T09:59:00Z",
      process: "web",
      run: 2,
      cause: "exit" as const,
      reason: "exited with code 3",
      code: 3,
    },
    ...{ decision: "restart 1 of 3", lines: [line], metrics: [] },
  };
  const points = [{ time: "2026-11-21T09:58:00Z", cpuPercent: 3, memoryBytes: 1_000_000, processes: 1 }];
  const lines = screen(SMALL, RECORDS, key("enter"), {
    type: "detail",
    id: "web",
    answer: { incidents: [incident], points },
  });
  assert.match(lines[1] ?? "", /^web runs/);
  assert.ok(lines.some((each) => /^CPU since \d\d:\d\d, peak 3\.0 % \(2 % of the machine, 200\.0 %\)$/.test(each)));
  assert.ok(lines.includes("Memory, peak 1.0 MB (0 % of the machine, 8.0 GB)"));
  assert.ok(lines.some((each) => /run 2 of web exited with code 3; restart 1 of 3$/.test(each)));
  assert.ok(lines.includes("    | last\\x1b]0;x\\x07"));
});

test("with NO_COLOR no cell has a color, and the selected row still stands out", () => {
  const { styles, columns } = frameOf(
    modelOf(SMALL, RECORDS, ...logOf(entry("x", { severity: "error" })), key("/"), key("x")),
    paletteFor(false),
  );
  for (const style of styles) assert.doesNotMatch(style, /(?:^|;)(?:[349]\d|10\d)(?:;|$)/);
  assert.match(styles[2 * columns] ?? "", /7/);
});

test("every mode is drawn at every size, within its cells", () => {
  const modes = [[], [key("f"), key("日")], [key("x")], [key("?")], [key("enter")], [key("/"), key("o")]];
  const size = fc.record({ columns: fc.integer({ min: 1, max: 90 }), rows: fc.integer({ min: 1, max: 30 }) });
  fc.assert(
    fc.property(size, fc.constantFrom(...modes), fc.integer({ min: 0, max: 30 }), (given, mode, count) => {
      const records = Array.from({ length: count }, (_, index) => record(`${LONG}-${index}`, { cpuPercent: index }));
      const model = modelOf(given, records, ...logOf(entry("日本語"), entry("\u0007")), ...mode);
      const cells = frameOf(update(model, { type: "resize", size: given }).model, paletteFor(true));
      assert.equal(cells.texts.length, given.columns * given.rows);
      assert.equal(cells.styles.length, given.columns * given.rows);
    }),
  );
});

/** The runs of cells with one style in the text of the first line of output. */
function styledLine(model: MonitorModel, hasColors = true): readonly (readonly [text: string, style: string])[] {
  const cells = frameOf(model, paletteFor(hasColors));
  const row = linesOf(cells).findIndex((line) => line.includes(" | "));
  const runs: [string, string][] = [];
  for (let at = row * cells.columns; at < (row + 1) * cells.columns; at += 1) {
    const [text = "", style = ""] = [cells.texts[at], cells.styles[at]];
    const last = runs.at(-1);
    if (last?.[1] === style) last[0] += text;
    else runs.push([text, style]);
  }
  return runs.slice(3);
}

test("colors of programs are shown in their cells, beside wide characters and tabs too, and end with the line", () => {
  const colored = entry("a\u001b[31m日本\t|\u001b[1;44mx\u001b[0m plain \u001b[32mnot ended");
  const runs = styledLine(modelOf(SMALL, RECORDS, ...logOf(colored)));
  assert.deepEqual(
    runs.map(([text, style]) => [text.trim(), style]),
    [
      ["a", ""],
      ["日本   |", "31"],
      ["x", "1;31;44"],
      ["plain", ""],
      ["not ended", "32"],
      ["", ""],
    ].map(([text = "", style]) => [text, style]),
  );
  assert.deepEqual(
    styledLine(modelOf(SMALL, RECORDS, ...logOf(colored)), false).map(([, style]) => style),
    ["", "1", ""],
  );
});

test("of a long colored line the further parts have their colors, and hits are found across them", () => {
  const long = entry(`${"a".repeat(100)}\u001b[31m${"b".repeat(100)}\u001b[32mGE\u001b[0mT`);
  const model = modelOf(SMALL, RECORDS, ...logOf(long));
  assert.deepEqual(
    styledLine(model).map(([, style]) => style),
    [""],
  );
  let further = model;
  for (let times = 0; times < 5; times += 1) further = update(further, key("right")).model;
  assert.ok(styledLine(further).some(([text, style]) => text.startsWith("b") && style === "31"));
  const found = [key("/"), key("G"), key("E"), key("T"), key("enter")].reduce(
    (at, input) => update(at, input).model,
    model,
  );
  assert.ok(linesOf(frameOf(found, paletteFor(true))).some((line) => line.includes('"GET": 1 of 1')));
});

test("trouble is at the top without a key, and what is selected is said in the line above the keys", () => {
  const lines = linesOf(frameOf({ ...modelOf(SMALL, []), ...trouble(RECORDS) }, paletteFor(true)));
  assert.match(lines[2] ?? "", /^mail +errored/);
  assert.match(lines[3] ?? "", /^web +running/);
  assert.equal(lines[22], "1 of 2 · exited with code 3\\x1b[2J");
});

/** The rows of a monitor in which no key was pressed. */
function trouble(records: readonly ProcessRecord[]): Pick<MonitorModel, "rows" | "records" | "choice" | "selected"> {
  const { model } = update(initialModel(SMALL, NOW), { type: "processes", records, now: NOW });
  const { rows, choice, selected = "" } = model;
  return { rows, records, choice, selected };
}

test("a whole bar is the limit of the process or, without one, what the machine has; near the limit it is red", () => {
  const records = [
    record("limited", { cpuPercent: 25, cpuLimitPercent: 50, memoryBytes: 92e6, memoryLimitBytes: 100e6 }),
    record("steady", { cpuPercent: 1, memoryBytes: 48e6 }),
    record("half", { cpuPercent: 100, memoryBytes: 4e9 }),
  ];
  const cells = frameOf(modelOf({ columns: 200, rows: 60 }, records), paletteFor(true));
  const lines = linesOf(cells);
  assert.match(lines[2] ?? "", / 25\.0 % +▅ +92\.0 MB +█ /);
  assert.match(lines[3] ?? "", / 1\.0 % +▁ +48\.0 MB +▁ /);
  assert.match(lines[4] ?? "", / 100\.0 % +▅ +4\.0 GB +▅ /);
  const styleAt = (row: number): string =>
    cells.styles[row * 200 + (lines[row]?.lastIndexOf(row === 2 ? "█" : "▅") ?? 0)] ?? "";
  assert.equal(styleAt(4), paletteFor(true).spark);
  assert.match(styleAt(2), /^31/);
});

test("until the machine is known, processes without a limit have no bars", () => {
  const start = initialModel({ columns: 200, rows: 60 }, NOW);
  const { model } = update(start, { type: "processes", records: RECORDS, now: NOW });
  assert.ok(linesOf(frameOf(model, paletteFor(true))).every((line) => !/[▁-█]/.test(line)));
});

test("the log of all has the id of each process before its line, in a column and a color of its own", () => {
  const items = [
    entry("GET /"),
    entry("oops", { process: "mail", category: "stderr" }),
    entry("reload", { process: undefined, category: "service" }),
  ];
  const model = modelOf(SMALL, RECORDS, key("a"), { type: "log-begin", id: "all" }, { type: "log", id: "all", items });
  const cells = frameOf(model, paletteFor(true));
  const lines = linesOf(cells);
  const title = lines.findIndex((line) => line.startsWith("── log of all processes ─"));
  assert.match(lines[title + 1] ?? "", /^\d\d:00:00 web {5}\| GET \/$/);
  assert.match(lines[title + 2] ?? "", /^\d\d:00:00 mail {4}! oops$/);
  assert.match(lines[title + 3] ?? "", /^\d\d:00:00 procman · reload$/);
  const styles = [1, 2].map((row) => cells.styles[(title + row) * 80 + 9]);
  assert.notEqual(styles[0], styles[1]);
});

test("a long reason of the selected process is whole below the log, which gives it the rows", () => {
  const reason =
    'could not be started: there is no program "no-such-program" in its PATH; correct "cmd" or add its folder to "path"; not tried again';
  for (const [columns, rows] of [
    [120, 34],
    [80, 24],
  ] as const) {
    const lines = screen({ columns, rows }, [record("web", { status: "errored", reason })]);
    const status = lines.findIndex((line) => line.startsWith("1 of 1"));
    assert.ok(status < rows - 2, `${status}`);
    assert.equal(lines.slice(status, rows - 1).join(" "), `1 of 1 · sorted by file · ${reason}`);
    assert.ok(lines.findIndex((line) => line.startsWith("── log of ")) < status);
  }
  const small = screen({ columns: 50, rows: 14 }, [record("web", { status: "errored", reason })]);
  assert.match(small[11] ?? "", /^1 of 1/);
  assert.match(small[12] ?? "", /…$/);
});

test("a reason gets 22 columns before other values do, and keys that have no room are left out whole", () => {
  const lines = screen(SMALL, [record("a".repeat(20), { status: "errored", reason: "exited with code 127" })]);
  assert.match(lines[2] ?? "", / exited with code 127$/);
  assert.equal(screen({ columns: 50, rows: 14 }, RECORDS)[13], "q quit  ? help  Enter detail  a all logs  s start");
});

test("that procman has ended is said as such, not as a lost connection", () => {
  const lost = { state: "lost", since: NOW, why: "none is running", retryAt: NOW + 3_000, isEnded: true } as const;
  const lines = screen(SMALL, RECORDS, { type: "connection", connection: lost, now: NOW });
  assert.match(lines[0] ?? "", / procman has ended$/);
  assert.equal(lines[22], "none is running");
});

test("the help is whole on a small screen, too: page by page, then back", () => {
  const small: ScreenSize = { columns: 50, rows: 14 };
  const first = screen(small, RECORDS, key("?"));
  assert.match(first[2] ?? "", /^ ↑ ↓ PgUp PgDn +select a process/);
  assert.deepEqual([first[12], first[13]], ["", "any key: more"]);
  const last = screen(small, RECORDS, key("?"), key("x"));
  assert.ok(last.some((line) => /^ q Ctrl-C +quit; the processes keep running$/.test(line)));
  assert.equal(last[13], "any key: back");
  assert.equal(screen(small, RECORDS, key("?"), key("x"), key("x"))[1]?.slice(0, 2), "ID");
  assert.equal(screen(SMALL, RECORDS, key("?"))[23], "any key: back");
});
