import { size } from "../../../core/base/quantity.ts";
import { integer, list, number, object, openObject, optional, string, time } from "../../../core/base/schema.ts";
import type { MetricPoint } from "../../../core/contract/records.ts";
import { READS, tool } from "../tool.ts";
import { ID, timeIn } from "../tool-fields.ts";

const DEFAULT_SINCE = "15m";
const DEFAULT_POINTS = 30;
const MOST_POINTS = 500;

const summary = openObject({ min: number(), max: number(), last: number() });

export const metricsTool = tool({
  name: "metrics",
  title: "CPU and memory over time",
  description:
    "CPU (100 % is one core) and private memory of a process with all its descendants, over time: for leaks and loads.",
  input: object({
    id: ID,
    since: optional(
      string({ minLength: 1, maxLength: 100, default: DEFAULT_SINCE, description: '"15m", "2h", ISO 8601.' }),
    ),
    points: optional(integer({ minimum: 1, maximum: MOST_POINTS, default: DEFAULT_POINTS })),
  }),
  output: {
    points: list(openObject({ time: time(), cpuPercent: number(), memoryBytes: number() }), {
      description: "Oldest first.",
    }),
    cpuPercent: optional(summary),
    memoryBytes: optional(summary),
  },
  annotations: READS,
  needs: ["read"],
  call: async ({ id, since = DEFAULT_SINCE, points: count = DEFAULT_POINTS }, { connect }) => {
    const now = Date.now();
    const from = timeIn("since", since) ?? now;
    const stepSeconds = Math.max(1, Math.ceil((now - from) / 1_000 / count));
    const points = await (await connect()).metrics(id, { from, stepSeconds });
    const [cpuPercent, memoryBytes] = [of(points, "cpuPercent"), of(points, "memoryBytes")];
    return {
      data: {
        points: points.map((point) => ({
          time: point.time,
          cpuPercent: point.cpuPercent,
          memoryBytes: point.memoryBytes,
        })),
        ...(cpuPercent && { cpuPercent }),
        ...(memoryBytes && { memoryBytes }),
      },
      text: [
        ...(cpuPercent && memoryBytes
          ? [
              `${id} since ${since}: CPU ${cpuPercent.min} to ${cpuPercent.max} %, now ${cpuPercent.last} %; memory ${size(memoryBytes.min)} to ${size(memoryBytes.max)}, now ${size(memoryBytes.last)}`,
            ]
          : [`${id}: nothing was measured since ${since}`]),
        ...points.map((point) => `${point.time} ${point.cpuPercent} % ${size(point.memoryBytes)}`),
      ].join("\n"),
      next: `Memory that only grows is a leak: "logs" for ${id} at that time. "why" tells whether a limit has ended it.`,
    };
  },
});

function of(
  points: readonly MetricPoint[],
  name: "cpuPercent" | "memoryBytes",
): { readonly min: number; readonly max: number; readonly last: number } | undefined {
  const values = points.map((point) => point[name]);
  const last = values.at(-1);
  return last === undefined ? undefined : { min: Math.min(...values), max: Math.max(...values), last };
}
