/** Which rows of the screen the parts get, and what is seen in them. */
import type { ProcessRecord } from "../../core/contract/records.ts";
import { ALL, isTyping, type MonitorModel, selectedRecord } from "./monitor-model.ts";
import { statusText } from "./status-line.ts";
import { wrappedTo } from "./text-clusters.ts";

export type MonitorLayout = {
  /** Row of the table's titles, and number of processes below it. */
  readonly table: number;
  readonly tableRows: number;
  /** Row of the log's title, and number of lines below it; none: there is no log. */
  readonly log: number;
  readonly logRows: number;
  /** First row of the status, and what is in it and the rows below it. */
  readonly status: number;
  readonly statusLines: readonly string[];
  readonly help: number;
};

/** With fewer rows there is no log. */
const LEAST_WITH_LOG = 12;
/** Share of the rows that the table gets at most, if there are more processes. */
const TABLE_SHARE = 0.55;
const LEAST_TABLE = 4;
/** A long status takes rows of the log: at most this many, and one for so many rows of the screen. */
const MOST_STATUS = 3;
const ROWS_FOR_STATUS = 7;

export function layoutOf(model: MonitorModel): MonitorLayout {
  const { size, rows, isLogShown } = model;
  const help = size.rows - 1;
  // Title of the screen, titles of the columns, one row of status, help.
  const free = Math.max(0, size.rows - 4);
  const hasLog = isLogShown && size.rows >= LEAST_WITH_LOG;
  const statusLines = statusLinesOf(model, hasLog);
  const common = { table: 1, status: help - statusLines.length, statusLines, help };
  if (!hasLog) return { ...common, tableRows: free, log: common.status, logRows: 0 };
  const tableRows = Math.min(Math.max(LEAST_TABLE, rows.length), Math.floor(free * TABLE_SHARE));
  return { ...common, tableRows, log: 2 + tableRows, logRows: free - tableRows - statusLines.length };
}

/** What has no room in the last line ends there with `…`. */
function statusLinesOf(model: MonitorModel, hasLog: boolean): readonly string[] {
  const { columns, rows } = model.size;
  const most = hasLog ? Math.max(1, Math.min(MOST_STATUS, Math.floor(rows / ROWS_FOR_STATUS))) : 1;
  // Behind an input is the cursor.
  const lines = wrappedTo(statusText(model), columns - (isTyping(model) ? 1 : 0));
  return lines.length <= most ? lines : [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")];
}

/** The processes on the screen. */
export function visibleRows(model: MonitorModel): readonly ProcessRecord[] {
  return model.rows.slice(model.top, model.top + layoutOf(model).tableRows);
}

/** Keys that a page of the help has room for, below an empty row. */
export function helpRows(model: MonitorModel): number {
  return Math.max(1, layoutOf(model).status - 2);
}

/** Whose log is to be followed. */
export function followedId(model: MonitorModel): string | undefined {
  if (layoutOf(model).logRows <= 0) return undefined;
  return model.isLogOfAll ? ALL : selectedRecord(model)?.id;
}
