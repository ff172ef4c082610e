/** How the overview is shown: the choices of the user, which the browser keeps, and the columns that there is room for. */
import type { SortKey } from "./process-list.ts";

export type ViewOptions = {
  readonly isCompact: boolean;
  readonly isGrouped: boolean;
  readonly pid: boolean;
  readonly port: boolean;
};

const KEY = "procman-overview";
const DEFAULTS: ViewOptions = { isCompact: false, isGrouped: true, pid: false, port: false };

/** What the browser has kept; anything that isn't a choice counts as none. */
export function storedOptions(storage: Pick<Storage, "getItem">): ViewOptions {
  const kept = new URLSearchParams(storage.getItem(KEY) ?? "");
  const choice = (name: keyof ViewOptions): boolean => (kept.has(name) ? kept.get(name) === "true" : DEFAULTS[name]);
  return {
    isCompact: choice("isCompact"),
    isGrouped: choice("isGrouped"),
    pid: choice("pid"),
    port: choice("port"),
  };
}

export function storeOptions(storage: Pick<Storage, "setItem">, options: ViewOptions): void {
  storage.setItem(KEY, new URLSearchParams(Object.entries(options).map(([name, is]) => [name, `${is}`])).toString());
}

export type ColumnKey = Exclude<SortKey, "attention"> | "pid" | "port";

export type ShownColumns = {
  /** All but name, state and actions, from left to right. */
  readonly keys: readonly Exclude<ColumnKey, "id" | "status">[];
  readonly hasCurves: boolean;
  /** Width of the name. Pixels. */
  readonly nameWidth: number;
};

/** Widths in pixels; those of the columns as in the style sheet. */
const WIDTHS = { pid: 72, port: 64, up: 68, restarts: 80, cpu: 78, memory: 86, next: 92 } as const;
const CURVES = 2 * 70;
const ACTIONS = 124;
const LEAST_NAME = 200;
const LEAST_STATE = 220;
/** The state gets the rest. */
const NAME_SHARE = 0.42;
const MOST_NAME = 560;

const ORDER = ["pid", "port", "up", "cpu", "memory", "restarts", "next"] as const;
/** What goes last when there is little room: first what was asked for, then what a glance is for. */
const PRIORITY = ["pid", "port", "cpu", "memory", "up", "restarts", "curves", "next"] as const;

/** `width`: of the table, in pixels. The state has always LEAST_STATE. */
export function columnsFor(width: number, { pid, port }: Pick<ViewOptions, "pid" | "port">): ShownColumns {
  let room = width - ACTIONS - LEAST_NAME - LEAST_STATE;
  const shown = new Set<string>();
  for (const key of PRIORITY) {
    const needed = key === "curves" ? CURVES : WIDTHS[key];
    if ((key === "pid" && !pid) || (key === "port" && !port)) continue;
    if (needed > room) break;
    room -= needed;
    shown.add(key);
  }
  return {
    keys: ORDER.filter((key) => shown.has(key)),
    hasCurves: shown.has("curves"),
    nameWidth: Math.min(MOST_NAME, Math.round(LEAST_NAME + Math.max(0, room) * NAME_SHARE)),
  };
}
