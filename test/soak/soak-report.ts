/** The results of a soak: samples and figures as JSON, curves as a picture, a verdict for the reader. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import type { Window } from "./soak-account.ts";
import type { Soak } from "./soak-actions.ts";
import { type Assessment, assessSamples, MEASURES } from "./soak-analysis.ts";
import { curvesSvg } from "./soak-curves.ts";
import { PARTS, type Sample } from "./soak-sampler.ts";
import { phasesOf, type SoakTime } from "./soak-schedule.ts";
import { unexpectedIn } from "./soak-warnings.ts";
import { median } from "./trend.ts";

/** What only the run itself knows. */
export type SoakEnd = {
  readonly time: SoakTime;
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: readonly string[];
  /** Of `GET /processes`, in milliseconds. */
  readonly answerMs: { readonly median: number; readonly worst: number };
  /** By the wall clock. */
  readonly disturbances: readonly Window[];
  /** Seconds since the beginning. */
  readonly kills: readonly number[];
  readonly machine: string;
};

export function endOf({ account, kills }: Soak, time: SoakTime, findings: readonly string[]): SoakEnd {
  const begin = account.windows[0]?.to ?? 0;
  return {
    time,
    counts: account.counts,
    findings,
    answerMs: { median: median(account.answerMs), worst: Math.max(...account.answerMs) },
    disturbances: account.disturbances,
    kills: kills.map(({ at }) => Math.round((at - begin) / 1_000)),
    machine: `${cpus().length} cores, Node ${process.version}`,
  };
}

export function writeReport(out: string, end: SoakEnd): number {
  writeFileSync(join(out, "end.json"), JSON.stringify(end, undefined, 2));
  return renderReport(out);
}

/** Also of a soak that is not over: `results/soak/NAME`. Returns the exit code. */
export function renderReport(out: string): number {
  const samples = readFileSync(join(out, "samples.jsonl"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Sample);
  const end = existsSync(join(out, "end.json"))
    ? (JSON.parse(readFileSync(join(out, "end.json"), "utf8")) as SoakEnd)
    : undefined;
  const minutes = end?.time.minutes ?? Number(/(\d+)-minutes/.exec(out)?.[1]);
  const spans = phasesOf(minutes);
  const { rows, levels, findings } = assessSamples(samples, spans);
  writeFileSync(join(out, "curves.svg"), curvesSvg(samples, spans, end?.kills ?? []));
  const said = join(out, "said.log");
  const output = end === undefined ? [] : unexpectedIn(readFileSync(said, "utf8"), end.disturbances);
  const all = [...(end?.findings ?? []), ...output, ...findings];
  const verdict = end === undefined ? "not over" : all.length === 0 ? "passed" : "failed";
  const { disturbances: _, ...figures } = end ?? {};
  writeFileSync(
    join(out, "report.json"),
    JSON.stringify({ verdict, ...figures, findings: all, growth: rows, levels }, undefined, 2),
  );
  writeFileSync(join(out, "figures.md"), figuresOf({ rows, levels }));
  for (const { what, slope, low, high, limit, growth, unit } of rows)
    console.log(
      `${growth.padEnd(8)} ${what.padEnd(22)} ${format(slope)} (${format(low)} to ${format(high)}) ${unit}/h, limit ${limit}`,
    );
  for (const { what, first, last, limit, unit } of levels)
    console.log(
      `${what.padEnd(22)} at rest: ${format(first)} before, ${format(last)} after, limit ${format(limit)} ${unit}`,
    );
  for (const finding of all) console.log(`FOUND ${finding}`);
  console.log(`${verdict}: ${all.length} findings; ${out}/report.json, ${out}/curves.svg`);
  return all.length === 0 ? 0 : 1;
}

/** Growth and rests as a table of Markdown, a row for each measure and a column for each part. */
function figuresOf({ rows, levels }: Pick<Assessment, "rows" | "levels">): string {
  const cell = (what: string): string => {
    const [row, level] = [rows.find((each) => each.what === what), levels.find((each) => each.what === what)];
    const rests = level === undefined ? "" : `${format(level.first)} → ${format(level.last)}`;
    return row === undefined ? rests : `${rests}; ${format(row.slope)} (${format(row.low)} to ${format(row.high)})`;
  };
  const lines = MEASURES.map(({ name, unit }) => [
    unit === "" ? name : `${name}, ${unit}`,
    ...PARTS.map((part) => cell(`${part}: ${name}`)),
  ]);
  return [["", ...PARTS], ["---", ...PARTS.map(() => "---")], ...lines]
    .map((line) => `| ${line.join(" | ")} |\n`)
    .join("");
}

function format(value: number): string {
  if (Math.abs(value) < 0.005) return "0";
  return Math.abs(value) >= 10 ? value.toFixed(0) : value.toPrecision(2);
}
