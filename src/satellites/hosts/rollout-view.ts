/** A rollout on the terminal: a table that is drawn anew; elsewhere a line for each change. */
import { type Column, columnTable } from "../../cli/output/columns.ts";
import { printable, printableLine } from "../../core/base/printable.ts";
import { age } from "../../core/base/quantity.ts";
import type { RolledHost } from "./rolled-host.ts";

const REDRAW_MS = 1_000;

type RolledRow = Pick<RolledHost, "name" | "record" | "lost">;

const COLUMNS: readonly Column<RolledRow>[] = [
  { title: "HOST", cell: ({ name }) => name },
  { title: "PHASE", cell: phaseText },
  {
    title: "SINCE",
    cell: ({ record }, now) => (record === undefined ? "" : sinceText(record.since, now)),
    isRight: true,
  },
  { title: "WHAT", cell: whatText, isOptional: true, rank: 0 },
];

export function rolloutTable(hosts: readonly RolledRow[], screen: NodeJS.WriteStream = process.stdout): string {
  return columnTable(COLUMNS, hosts, screen);
}

function phaseText({ record, lost }: RolledRow): string {
  if (lost !== undefined || record === undefined) return "lost";
  return record.ended === undefined || record.phase !== "waiting" ? record.phase : "not begun";
}

function sinceText(since: string, now: number): string {
  return age(Math.max(0, now - Date.parse(since)));
}

function whatText({ record, lost }: RolledRow): string {
  return printableLine(lost ?? record?.problem ?? record?.line ?? "");
}

export class RolloutView {
  readonly #hosts: readonly RolledHost[];
  readonly #isSilent: boolean;
  readonly #shown = new Map<string, string>();
  #height = 0;
  readonly #timer: NodeJS.Timeout | undefined;

  /** `isSilent`: the records are printed at the end. */
  constructor(hosts: readonly RolledHost[], isSilent: boolean) {
    this.#hosts = hosts;
    this.#isSilent = isSilent;
    if (!isSilent && process.stdout.isTTY) this.#timer = setInterval(() => this.#draw(), REDRAW_MS).unref();
  }

  update(): void {
    if (this.#isSilent) return;
    if (this.#timer !== undefined) return this.#draw();
    for (const host of this.#hosts) {
      const what = whatText(host);
      const line = `${host.name}: ${phaseText(host)}${what === "" ? "" : `: ${what}`}`;
      const isNews = this.#shown.has(host.name) || host.record?.phase !== "waiting" || host.lost !== undefined;
      if (isNews && this.#shown.get(host.name) !== line) process.stdout.write(`${printable(line)}\n`);
      if (isNews) this.#shown.set(host.name, line);
    }
  }

  end(): void {
    clearInterval(this.#timer);
    this.update();
  }

  #draw(): void {
    const text = rolloutTable(this.#hosts);
    process.stdout.write(`${this.#height === 0 ? "" : `\u001b[${this.#height}A\u001b[J`}${text}\n`);
    this.#height = text.split("\n").length;
  }
}
