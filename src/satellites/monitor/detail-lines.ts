/** The page of one process: its state explained, its curves, how its runs ended. */
import { printableOutput } from "../../core/base/printable.ts";
import { size } from "../../core/base/quantity.ts";
import { hostTime } from "../../core/base/time-stamp.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { Incident } from "../../core/contract/run-summary.ts";
import { explain, subjectOf } from "../../core/contract/why.ts";
import type { CellStyle } from "./cell-buffer.ts";
import { layoutOf } from "./monitor-layout.ts";
import type { DetailAnswer, Mode, MonitorModel } from "./monitor-model.ts";
import { wrappedTo } from "./text-clusters.ts";
import { sparkline, type UsageValue, wholeBar } from "./usage-history.ts";

/** What a line is; the renderer gives it a style. */
export type DetailLine = { readonly text: string; readonly kind: "heading" | "text" | "problem" | "dim" | "curve" };

type DetailMode = Mode & { readonly name: "detail" };

const INDENT = "  ";
const LEAST_ROOM = 12;

/** All lines of the page, as long as the screen is wide. */
export function detailLines(model: MonitorModel, { id, answer, problem }: DetailMode): readonly DetailLine[] {
  const { size: screen, records, now } = model;
  const room = Math.max(LEAST_ROOM, screen.columns);
  const record = records.flatMap((each) => [each, ...(each.instances ?? [])]).find((each) => each.id === id);
  if (record === undefined)
    return wrapped([{ text: `${id} is no longer in the configuration`, kind: "problem" }], room);
  if (problem !== undefined) return wrapped([{ text: problem, kind: "problem" }], room);
  if (answer === undefined) return [{ text: "…", kind: "dim" }];
  return wrapped(
    [
      ...explain(record, answer.incidents, now).map((text): DetailLine => ({ text, kind: "text" })),
      ...membersOf(record),
      ...curves(answer, record, model),
      ...endsOf(answer.incidents),
    ],
    room,
  );
}

/** The number of lines that can be scrolled away. */
export function longestScroll(model: MonitorModel, mode: DetailMode): number {
  return Math.max(0, detailLines(model, mode).length - detailRows(model));
}

/** Rows of the screen for the page: without its title, status and help. */
export function detailRows(model: MonitorModel): number {
  return Math.max(0, layoutOf(model).status - 1);
}

function wrapped(lines: readonly DetailLine[], room: number): readonly DetailLine[] {
  return lines.flatMap(({ text: raw, kind }) => {
    // Last lines of a program may have colors.
    const text = printableOutput(raw, false);
    const indent = /^ {0,8}/.exec(text)?.[0] ?? "";
    return wrappedTo(text.slice(indent.length), room - indent.length).map((part) => ({
      text: `${indent}${part}`,
      kind,
    }));
  });
}

function heading(text: string): readonly DetailLine[] {
  return [
    { text: "", kind: "text" },
    { text, kind: "heading" },
  ];
}

function membersOf({ instances = [] }: ProcessRecord): readonly DetailLine[] {
  if (instances.length === 0) return [];
  const lines = instances.map(
    ({ id, status, reason }): DetailLine => ({ text: `${INDENT}${id} ${status}: ${reason}`, kind: "text" }),
  );
  return [...heading("Instances"), ...lines];
}

function curves({ points }: DetailAnswer, record: ProcessRecord, model: MonitorModel): readonly DetailLine[] {
  if (points.length === 0) return [];
  const shown = points.slice(-(Math.max(LEAST_ROOM, model.size.columns) - INDENT.length));
  const curve = (value: UsageValue, title: string, text: (most: number) => string): readonly DetailLine[] => {
    const values = shown.map((point) => point[value]);
    const most = Math.max(...values);
    const bars: DetailLine = { text: `${INDENT}${sparkline(values, Math.max(1, most))}`, kind: "curve" };
    return [...heading(`${title}, peak ${text(most)}${shareOf(most, { record, value, model, text })}`), bars];
  };
  return [
    ...curve("cpuPercent", `CPU since ${clock(shown[0]?.time)}`, (most) => `${most.toFixed(1)} %`),
    ...curve("memoryBytes", "Memory", size),
  ];
}

type ShareOptions = {
  readonly record: ProcessRecord;
  readonly value: UsageValue;
  readonly model: MonitorModel;
  readonly text: (value: number) => string;
};

/** What that is of the limit of the process, or of the machine. */
function shareOf(most: number, { record, value, model: { machine }, text }: ShareOptions): string {
  const whole = wholeBar(record, value, machine);
  if (whole === undefined) return "";
  const percent = ((100 * most) / whole.value).toFixed(0);
  return ` (${percent} % of ${whole.isLimit ? "its limit" : "the machine"}, ${text(whole.value)})`;
}

function clock(time = ""): string {
  return hostTime(Date.parse(time)).slice(11, 16);
}

function endsOf(incidents: readonly Incident[]): readonly DetailLine[] {
  if (incidents.length === 0) return [];
  return [...heading(`Ended runs (${incidents.length})`), ...incidents.flatMap(endLines)];
}

function endLines(incident: Incident): readonly DetailLine[] {
  const { time, reason, decision, lines } = incident;
  const last = lines.at(-1)?.text;
  return [
    { text: `${INDENT}${hostTime(Date.parse(time))} ${subjectOf(incident)} ${reason}; ${decision}`, kind: "text" },
    ...(last === undefined ? [] : [{ text: `${INDENT}${INDENT}| ${last}`, kind: "dim" as const }]),
  ];
}

export type DetailStyles = Readonly<Record<DetailLine["kind"], CellStyle>>;
