/** What each key does. */
import type { ProcessRecord } from "../../core/contract/records.ts";
import { endOfAll, isActionKey, keyedAction, whyNoInput } from "./action-keys.ts";
import { detailRows, longestScroll } from "./detail-lines.ts";
import { HELP } from "./help-texts.ts";
import type { KeyPress } from "./key-parser.ts";
import { hitsOf, KEPT_LINES, scrolled, searchedFor, steppedToHit } from "./log-lines.ts";
import { helpRows, layoutOf } from "./monitor-layout.ts";
import {
  ALL,
  type InputTarget,
  type Mode,
  type MonitorEffect,
  type MonitorModel,
  type Question,
  type Step,
  selectedRecord,
} from "./monitor-model.ts";
import { rowsOf, SORTS } from "./process-rows.ts";

/** Lines of the wheel of a mouse; columns of a shift of the log. */
const WHEEL_LINES = 3;
const SHIFT_COLUMNS = 10;
/** Time for which a result is shown. Milliseconds. */
const NOTICE_MS = 8_000;

const LIST: Mode = { name: "list" };
const LOST = "Cannot act: the connection to procman is lost";

export function onKey(model: MonitorModel, key: KeyPress): Step {
  const { notice, ...rest } = model;
  // A problem stays until the user has had a look.
  const seen = notice === undefined || (notice.until !== undefined && key.name !== "escape") ? model : rest;
  if (key.name === "interrupt") return step(seen, { type: "quit" });
  if (key.name === "suspend") return step(seen, { type: "suspend" });
  if (key.name === "redraw") return step(seen, { type: "redraw" });
  switch (model.mode.name) {
    case "input":
      return step(onInput(seen, model.mode, key));
    case "send":
      return onSend(seen, model.mode, key);
    case "confirm":
      return onConfirm(seen, model.mode, key);
    case "help":
      return step({ ...seen, mode: afterHelp(model, model.mode.from) });
    case "detail":
      return onDetail(seen, model.mode, key);
    case "list":
      return onList(seen, key);
  }
}

/** The next page of the help; behind the last one, the list. */
function afterHelp(model: MonitorModel, from: number): Mode {
  const next = from + helpRows(model);
  return next < HELP.length ? { name: "help", from: next } : LIST;
}

function step(model: MonitorModel, ...effects: readonly MonitorEffect[]): Step {
  return { model, effects };
}

function said(model: MonitorModel, text: string, isProblem = true): Step {
  return step({ ...model, notice: { text, isProblem, until: model.now + NOTICE_MS } });
}

function onConfirm(model: MonitorModel, { question }: Mode & { readonly name: "confirm" }, key: KeyPress): Step {
  const isYes = key.name === "text" && key.text.toLowerCase() === "y";
  const closed = { ...model, mode: LIST };
  return isYes ? step(closed, question.effect) : said(closed, "Nothing was done.", false);
}

function onDetail(model: MonitorModel, mode: Mode & { readonly name: "detail" }, key: KeyPress): Step {
  const page = Math.max(1, detailRows(model) - 1);
  const isBack =
    ["escape", "enter", "left", "backspace"].includes(key.name) || (key.name === "text" && key.text === "q");
  if (isBack) return step({ ...model, mode: LIST });
  if (key.name === "text" && isActionKey(key.text)) return onAction({ ...model, mode: LIST }, key.text);
  const by = distance(key, page);
  if (by === undefined) return step(model);
  return step({
    ...model,
    mode: { ...mode, scroll: Math.max(0, Math.min(mode.scroll + by, longestScroll(model, mode))) },
  });
}

/** Lines that a key moves by; undefined: it doesn't. */
function distance(key: KeyPress, page: number): number | undefined {
  switch (key.name === "text" ? key.text : key.name) {
    case "up":
    case "k":
      return -1;
    case "down":
    case "j":
      return 1;
    case "pageup":
      return -page;
    case "pagedown":
    case " ":
      return page;
    case "home":
    case "g":
      return Number.NEGATIVE_INFINITY;
    case "end":
    case "G":
      return Number.MAX_SAFE_INTEGER;
    case "wheelup":
      return -WHEEL_LINES;
    case "wheeldown":
      return WHEEL_LINES;
    default:
      return undefined;
  }
}

function onInput(model: MonitorModel, mode: Mode & { readonly name: "input" }, key: KeyPress): MonitorModel {
  const { before, target } = mode;
  switch (key.name) {
    case "enter":
      return target === "search" ? firstHit({ ...model, mode: LIST }) : { ...model, mode: LIST };
    case "escape":
      return { ...typed(model, { ...mode, text: before }), mode: LIST };
    default: {
      const text = edited(mode.text, key);
      return text === mode.text ? model : typed(model, { ...mode, text });
    }
  }
}

/** The text after a key; others leave it as it is. */
function edited(text: string, key: KeyPress): string {
  switch (key.name) {
    case "text":
    case "paste":
      return text + plain(key.text);
    case "backspace":
      return [...text].slice(0, -1).join("");
    case "clear":
      return "";
    default:
      return text;
  }
}

function plain(text: string): string {
  return text.replaceAll(/[\0-\x1f\x7f-\x9f]/g, "");
}

type SendMode = Mode & { readonly name: "send" };

function onSend(model: MonitorModel, mode: SendMode, key: KeyPress): Step {
  switch (key.name) {
    case "enter":
      return sent(model, { ...mode, text: "" }, [mode.text]);
    case "paste": {
      const lines = (mode.text + key.text).split(/\r\n|\r|\n/);
      const text = plain(lines.pop() ?? "");
      return sent(model, { ...mode, text }, lines.map(plain));
    }
    case "escape":
      return step({ ...model, mode: LIST });
    case "up":
      return step({ ...model, mode: { ...mode, text: mode.last } });
    default:
      return step({ ...model, mode: { ...mode, text: edited(mode.text, key) } });
  }
}

function sent(model: MonitorModel, mode: SendMode, lines: readonly string[]): Step {
  const last = lines.findLast((line) => line !== "") ?? mode.last;
  const effects = lines.map((line) => ({ type: "send", id: mode.id, text: `${line}\n` }) as const);
  return step({ ...model, mode: { ...mode, last } }, ...effects);
}

/** What is typed applies at once. */
function typed(model: MonitorModel, mode: Mode & { readonly name: "input" }): MonitorModel {
  if (mode.target === "search") return { ...model, mode, log: searchedFor(model.log, mode.text) };
  return withRows({ ...model, mode, choice: { ...model.choice, filter: mode.text } });
}

function firstHit(model: MonitorModel): MonitorModel {
  const { log, now } = model;
  if (log.search === "") return model;
  if (hitsOf(log).length > 0) return { ...model, log: steppedToHit(log, -1, layoutOf(model).logRows) };
  const command = `procman logs ${log.id === ALL ? "" : `${log.id} `}--search TEXT`;
  const text = `No line of the last ${KEPT_LINES} has "${log.search}"; "${command}" searches all stored lines`;
  return { ...model, notice: { text, isProblem: true, until: now + NOTICE_MS } };
}

/** The rows anew, with the same process selected; if it is gone, the one in its place. */
export function withRows(model: MonitorModel): MonitorModel {
  const index = model.rows.findIndex(({ id }) => id === model.selected);
  const rows = rowsOf(model.records, model.choice);
  const isThere = rows.some(({ id }) => id === model.selected);
  return isThere ? inView({ ...model, rows }) : select({ ...model, rows }, Math.max(0, index));
}

/** Selects the row at this index, or the nearest one. */
function select(model: MonitorModel, index: number): MonitorModel {
  const { selected: _selected, ...rest } = model;
  const found = model.rows[Math.max(0, Math.min(index, model.rows.length - 1))];
  return found === undefined ? { ...rest, top: 0 } : inView({ ...rest, selected: found.id });
}

/** Scrolls the table so that the selected row is seen. */
export function inView(model: MonitorModel): MonitorModel {
  const { rows, selected, top } = model;
  const { tableRows } = layoutOf(model);
  const index = Math.max(
    0,
    rows.findIndex(({ id }) => id === selected),
  );
  const last = Math.max(0, rows.length - tableRows);
  return { ...model, top: Math.min(last, Math.max(index - tableRows + 1, Math.min(top, index))) };
}

function onAction(model: MonitorModel, key: Parameters<typeof keyedAction>[0]): Step {
  return withSelected(model, (record) => {
    const action = keyedAction(key, record);
    return "refusal" in action ? said(model, action.refusal) : asked(model, action.question);
  });
}

/** A line for the selected process; what it answers is seen below. */
function typing(model: MonitorModel): Step {
  return withSelected(model, (record) => {
    const refusal = whyNoInput(record);
    if (refusal !== undefined) return said(model, refusal);
    const mode: Mode = { name: "send", id: record.id, text: "", last: "" };
    return step(inView({ ...model, isLogShown: true, isLogOfAll: false, mode }));
  });
}

function withSelected(model: MonitorModel, act: (record: ProcessRecord) => Step): Step {
  const record = selectedRecord(model);
  if (record === undefined) return said(model, "No process is selected");
  return model.connection.state === "open" ? act(record) : said(model, LOST);
}

function asked(model: MonitorModel, question: Question): Step {
  if (model.connection.state !== "open") return said(model, LOST);
  return step({ ...model, mode: { name: "confirm", question } });
}

function onList(model: MonitorModel, key: KeyPress): Step {
  if (key.name === "text") return isActionKey(key.text) ? onAction(model, key.text) : onLetter(model, key.text, key);
  switch (key.name) {
    case "enter":
      return inspected(model);
    case "tab":
      return step({ ...model, focus: model.focus === "table" && layoutOf(model).logRows > 0 ? "log" : "table" });
    case "escape":
      return step(cleared(model));
    case "left":
    case "right":
      return step(shifted(model, key.name === "left" ? -SHIFT_COLUMNS : SHIFT_COLUMNS));
    case "click":
      return step(clicked(model, key.row));
    case "wheelup":
    case "wheeldown":
      return step(moved({ ...model, focus: key.row >= layoutOf(model).log ? "log" : "table" }, key));
    default:
      return step(moved(model, key));
  }
}

function onLetter(model: MonitorModel, letter: string, key: KeyPress): Step {
  const { choice, log } = model;
  switch (letter) {
    case "q":
      return step(model, { type: "quit" });
    case "Q":
      return asked(model, endOfAll(model));
    case "?":
    case "h":
      return step({ ...model, mode: { name: "help", from: 0 } });
    case "i":
      return typing(model);
    case "f":
      return step(asking(model, "filter", choice.filter));
    case "/":
      return step(asking({ ...model, isLogShown: true }, "search", log.search));
    case "n":
    case "N":
      return step({ ...model, log: steppedToHit(log, letter === "n" ? -1 : 1, layoutOf(model).logRows) });
    case "o":
      return step(withRows({ ...model, choice: { ...choice, sort: nextSort(choice.sort) } }));
    case "O":
      return step(withRows({ ...model, choice: { ...choice, isReversed: !choice.isReversed } }));
    case "a":
      return step(inView({ ...model, isLogShown: true, isLogOfAll: !model.isLogShown || !model.isLogOfAll }));
    case "l":
      return step(inView({ ...model, isLogShown: !model.isLogShown, focus: "table" }));
    default:
      return step(moved(model, key));
  }
}

function nextSort(sort: (typeof SORTS)[number]): (typeof SORTS)[number] {
  return SORTS[(SORTS.indexOf(sort) + 1) % SORTS.length] ?? "file";
}

function asking(model: MonitorModel, target: InputTarget, before: string): MonitorModel {
  return { ...model, mode: { name: "input", target, text: before, before } };
}

function inspected(model: MonitorModel): Step {
  const id = selectedRecord(model)?.id;
  if (id === undefined) return step(model);
  return step({ ...model, mode: { name: "detail", id, scroll: 0 } }, { type: "inspect", id });
}

/** Escape takes back one thing after the other. */
function cleared(model: MonitorModel): MonitorModel {
  const { log, choice } = model;
  if (model.focus === "log" && log.below > 0) return { ...model, log: { ...log, below: 0 } };
  if (log.search !== "") return { ...model, log: searchedFor(log, "") };
  if (choice.filter !== "") return withRows({ ...model, choice: { ...choice, filter: "" } });
  return { ...model, focus: "table" };
}

function shifted(model: MonitorModel, by: number): MonitorModel {
  return { ...model, log: { ...model.log, shift: Math.max(0, model.log.shift + by) } };
}

function moved(model: MonitorModel, key: KeyPress): MonitorModel {
  const { tableRows, logRows } = layoutOf(model);
  if (model.focus === "log") {
    const by = distance(key, Math.max(1, logRows - 1));
    return by === undefined ? model : { ...model, log: scrolled(model.log, by, logRows) };
  }
  const by = distance(key, Math.max(1, tableRows - 1));
  const index = Math.max(
    0,
    model.rows.findIndex(({ id }) => id === model.selected),
  );
  return by === undefined ? model : select(model, index + by);
}

function clicked(model: MonitorModel, row: number): MonitorModel {
  const { table, tableRows, log, logRows } = layoutOf(model);
  const index = model.top + row - table - 1;
  if (row > table && row <= table + tableRows && index < model.rows.length)
    return select({ ...model, focus: "table" }, index);
  return logRows > 0 && row >= log ? { ...model, focus: "log" } : model;
}
