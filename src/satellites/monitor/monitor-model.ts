/** What the monitor knows and shows, what comes in, and what follows from it. */
import type { Action } from "../../core/contract/control.ts";
import type { LogItem, MetricPoint, ProcessRecord, Severity } from "../../core/contract/records.ts";
import type { Incident } from "../../core/contract/run-summary.ts";
import type { ScreenSize } from "./cell-buffer.ts";
import type { ColoredText } from "./colored-text.ts";
import type { KeyPress } from "./key-parser.ts";
import type { RowChoice } from "./process-rows.ts";
import type { MachineSize, UsageHistories } from "./usage-history.ts";

/** Who asks, in audit lines and incidents. */
export const CONSUMER = "monitor";

/** In place of an id: the log of all processes. No process has this id. */
export const ALL = "all";

/** Times are milliseconds since 1970. `retryAt` absent: it is being connected right now. `isEnded`: procman doesn't run. */
export type Connection =
  | { readonly state: "open" }
  | {
      readonly state: "lost";
      readonly since: number;
      readonly why?: string;
      readonly retryAt?: number;
      readonly isEnded?: boolean;
    };

export type ShownLine = {
  /** Increases from line to line. */
  readonly number: number;
  readonly time: string;
  readonly process: string;
  readonly severity: Severity;
  readonly isOutput: boolean;
  readonly isError: boolean;
} & ColoredText;

export type LogPane = {
  /** Whose lines these are; `ALL`: of all processes. */
  readonly id?: string;
  readonly lines: readonly ShownLine[];
  /** Lines that have come so far. */
  readonly count: number;
  /** Lines below the shown part; 0: it follows. */
  readonly below: number;
  /** First column of the text that is shown. */
  readonly shift: number;
  readonly search: string;
  /** The number of the line of the hit that was stepped to. */
  readonly hit?: number;
  /** Why there are no lines. */
  readonly problem?: string;
};

/** Answers to a question. */
export type Question = { readonly text: string; readonly effect: MonitorEffect };

export type InputTarget = "filter" | "search";

export type DetailAnswer = { readonly incidents: readonly Incident[]; readonly points: readonly MetricPoint[] };

export type Mode =
  | { readonly name: "list" }
  | { readonly name: "input"; readonly target: InputTarget; readonly text: string; readonly before: string }
  /** A line for a process. `last`: the one before. */
  | { readonly name: "send"; readonly id: string; readonly text: string; readonly last: string }
  | { readonly name: "confirm"; readonly question: Question }
  /** `from`: index of the first key that is shown. */
  | { readonly name: "help"; readonly from: number }
  | {
      readonly name: "detail";
      readonly id: string;
      readonly scroll: number;
      readonly answer?: DetailAnswer;
      readonly problem?: string;
    };

/** `until` absent: until a key is pressed. */
export type Notice = { readonly text: string; readonly isProblem: boolean; readonly until?: number };

export type MonitorModel = {
  readonly size: ScreenSize;
  readonly now: number;
  /** Name of the procman instance. */
  readonly name: string;
  readonly profile?: string;
  readonly machine?: MachineSize;
  readonly connection: Connection;
  /** When `records` were asked for. */
  readonly updated: number;
  readonly records: readonly ProcessRecord[];
  readonly rows: readonly ProcessRecord[];
  readonly choice: RowChoice;
  readonly selected?: string;
  /** Index of the first row that is shown. */
  readonly top: number;
  readonly histories: UsageHistories;
  readonly isLogShown: boolean;
  /** The log is that of all processes, not of the selected one. */
  readonly isLogOfAll: boolean;
  readonly focus: "table" | "log";
  readonly log: LogPane;
  readonly mode: Mode;
  readonly notice?: Notice;
};

export type MonitorInput =
  | { readonly type: "key"; readonly key: KeyPress }
  | { readonly type: "resize"; readonly size: ScreenSize }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "connection"; readonly connection: Connection; readonly now: number }
  | {
      readonly type: "service";
      readonly name: string;
      readonly profile?: string | undefined;
      readonly machine?: MachineSize;
    }
  | { readonly type: "processes"; readonly records: readonly ProcessRecord[]; readonly now: number }
  | { readonly type: "history"; readonly id: string; readonly points: readonly MetricPoint[] }
  /** The log pane begins anew. */
  | { readonly type: "log-begin"; readonly id: string }
  | { readonly type: "log"; readonly id: string; readonly items: readonly LogItem[] }
  | { readonly type: "log-problem"; readonly id: string; readonly problem: string }
  | { readonly type: "detail"; readonly id: string; readonly answer: DetailAnswer }
  | { readonly type: "detail-problem"; readonly id: string; readonly problem: string }
  | { readonly type: "incident"; readonly incident: Incident }
  | { readonly type: "notice"; readonly notice: Notice };

export type MonitorEffect =
  | { readonly type: "act"; readonly id: string; readonly action: Action; readonly hard: boolean }
  | { readonly type: "scale"; readonly id: string; readonly by: number }
  | { readonly type: "inspect"; readonly id: string }
  | { readonly type: "send"; readonly id: string; readonly text: string }
  | { readonly type: "terminate" }
  | { readonly type: "quit" }
  | { readonly type: "suspend" }
  | { readonly type: "redraw" };

/** The next model, and what is to be done. */
export type Step = { readonly model: MonitorModel; readonly effects: readonly MonitorEffect[] };

export const EMPTY_LOG: LogPane = { lines: [], count: 0, below: 0, shift: 0, search: "" };

export function initialModel(size: ScreenSize, now: number): MonitorModel {
  return {
    size,
    now,
    name: "",
    connection: { state: "lost", since: now },
    updated: now,
    records: [],
    rows: [],
    choice: { sort: "trouble", isReversed: false, filter: "" },
    top: 0,
    histories: new Map(),
    isLogShown: true,
    isLogOfAll: false,
    focus: "table",
    log: EMPTY_LOG,
    mode: { name: "list" },
  };
}

/** Whether the status is what is being typed; a refusal is shown until the next key. */
export function isTyping({ mode, notice }: Pick<MonitorModel, "mode" | "notice">): boolean {
  return mode.name === "input" || (mode.name === "send" && notice?.isProblem !== true);
}

export function selectedRecord({ rows, selected }: Pick<MonitorModel, "rows" | "selected">): ProcessRecord | undefined {
  return rows.find(({ id }) => id === selected);
}
