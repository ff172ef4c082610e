/** `scale`: its checks, and the specification made from it. */
import { totalmem } from "node:os";
import type { LoadTarget } from "../../autoscale/scale-controller.ts";
import type { ScaleSpec } from "../../autoscale/size-schedule.ts";
import { size } from "../../base/quantity.ts";
import type { RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import { milliseconds } from "../fields/field.ts";
import { SCALE } from "../fields/scale-fields.ts";
import { count } from "../instances.ts";
import type { PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { parseSize } from "../units.ts";
import { cronProblem } from "./cron.ts";

type RawScale = NonNullable<RawProcess["scale"]>;
type RawMax = RawScale["max"];

type ScaleContext = { readonly parallelism: number; readonly now: Date };

export function scaleSpec(
  { targets = {}, schedules = [], min, max, ...scale }: RawScale,
  { cluster, timeZone }: Pick<RawProcess, "cluster" | "timeZone">,
  parallelism: number,
): ScaleSpec {
  const { step } = scale;
  const zone = timeZone === undefined ? {} : { timeZone };
  return {
    min: fewestOf(min),
    max: mostOf(max, parallelism),
    targets: Object.entries(targets).map(([name, limit]) => targetOf(name, limit, cluster?.maxConnections)),
    upAfterMs: milliseconds(SCALE.upAfter, scale.upAfter),
    downAfterMs: milliseconds(SCALE.downAfter, scale.downAfter),
    ...(step !== undefined && { step }),
    ...(schedules.length > 0 && {
      schedules: schedules.map((each) => ({
        pattern: each.cron,
        ...zone,
        ...(each.min !== undefined && { min: fewestOf(each.min) }),
        ...(each.max !== undefined && { max: mostOf(each.max, parallelism) }),
      })),
    }),
  };
}

function targetOf(name: string, limit: number, maxConnections: number | undefined): LoadTarget {
  return { name, limit, ...(name === "waiting" && maxConnections !== undefined && { capacity: maxConnections }) };
}

/** While it is awake: without clients `idle` stops all of them. */
function fewestOf(min: number = SCALE.min.default): number {
  return Math.max(1, min);
}

function mostOf(max: RawMax, parallelism: number): number {
  return max === undefined || max === "processors" ? parallelism : max;
}

/** The process with as many instances as its cluster may get. */
export function atItsLargest<Process extends PartialProcess>(process: Process, parallelism: number): Process {
  const { cluster, scale } = process;
  if (cluster === undefined || scale === undefined) return process;
  const bounds = [scale.max, ...(scale.schedules ?? []).flatMap((schedule) => schedule?.max ?? [])];
  const instances = Math.max(count(process, parallelism), ...bounds.map((max) => mostOf(max, parallelism)));
  return { ...process, cluster: { ...cluster, instances } };
}

export function scaleErrors(process: PartialProcess, path: JsonPath, context: ScaleContext): readonly Finding[] {
  const { scale, cluster } = process;
  if (scale === undefined) return [];
  const at = [...path, "scale"];
  if (!("cluster" in process))
    return [
      {
        path: at,
        at: "key",
        message:
          'Found "scale" without "cluster", whose number of instances it changes. Add "cluster": { "instances": 1 }, or remove it.',
      },
    ];
  const isFixed = Object.keys(scale.targets ?? {}).length === 0 && (scale.schedules ?? []).length === 0;
  const sleeps = process.idle !== undefined && scale.min === 0;
  const message = 'Found neither "targets" nor "schedules": nothing would change the number of instances.';
  const nothing = isFixed && !sleeps ? [{ path: at, message }] : [];
  const zeros = process.idle === undefined ? zeroErrors(scale, at) : [];
  return [...nothing, ...targetErrors(scale, cluster ?? {}, at), ...boundErrors(scale, at, context), ...zeros];
}

function zeroErrors({ min, schedules = [] }: NonNullable<PartialProcess["scale"]>, at: JsonPath): readonly Finding[] {
  const places: readonly (readonly [JsonPath, number | undefined])[] = [
    [[...at, "min"], min],
    ...schedules.map((schedule, index) => [[...at, "schedules", index, "min"], schedule?.min] as const),
  ];
  const message = 'Found 0 without "idle", which lets the cluster sleep while it has no client: add that, or use 1.';
  return places.flatMap(([path, value]) => (value === 0 ? [{ path, message }] : []));
}

function targetErrors(
  { targets = {} }: NonNullable<PartialProcess["scale"]>,
  { commonPort, mode, maxConnections }: NonNullable<PartialProcess["cluster"]>,
  path: JsonPath,
): readonly Finding[] {
  const hasBalancer = commonPort !== undefined && mode !== "share";
  const findings = ["connections", "waiting"].flatMap((name) =>
    !(name in targets) || hasBalancer
      ? []
      : [
          {
            path: [...path, "targets", name],
            at: "key" as const,
            message: `Found ${show(name)} without a load balancer that counts them: set "cluster.commonPort"${mode === "share" ? ', and remove "mode": "share"' : ""}, or use another target.`,
          },
        ],
  );
  if (!("waiting" in targets) || maxConnections !== undefined || findings.length > 0) return findings;
  return [
    {
      path: [...path, "targets", "waiting"],
      at: "key",
      message: 'Found "waiting" without "cluster.maxConnections": without that limit no client waits for an instance.',
    },
  ];
}

function boundErrors(
  { min, max, schedules = [] }: NonNullable<PartialProcess["scale"]>,
  path: JsonPath,
  { parallelism, now }: ScaleContext,
): readonly Finding[] {
  const fewest = fewestOf(min);
  const disorder = (at: JsonPath, low: number, high: RawMax): readonly Finding[] => {
    const most = mostOf(high, parallelism);
    const text = high === undefined || high === "processors" ? `${most}, one for each processor` : `${most}`;
    if (low <= most) return [];
    const message =
      at.at(-1) === "min"
        ? `Found ${low}; allowed: at most "max", which is ${text}.`
        : `Found ${most}; allowed: at least "min", which is ${low}.`;
    return [{ path: at, message }];
  };
  return [
    ...disorder([...path, min === undefined ? "max" : "min"], fewest, max),
    ...schedules.flatMap((schedule, index) => {
      const at = [...path, "schedules", index];
      const reason = schedule?.cron === undefined ? undefined : cronProblem(schedule.cron, now);
      return [
        ...(reason === undefined
          ? []
          : [{ path: [...at, "cron"], message: `Found ${show(schedule?.cron)}; allowed: a cron pattern. ${reason}` }]),
        // Without bounds it has those of scale, which were checked above.
        ...(schedule?.min === undefined && schedule?.max === undefined
          ? []
          : disorder([...at, schedule.min === undefined ? "max" : "min"], schedule.min ?? fewest, schedule.max ?? max)),
      ];
    }),
  ];
}

/** `memory`: of this machine or, if that is less, the limit of procman's cgroup; bytes. */
type WarningContext = {
  readonly parallelism: number;
  readonly hasOverrides?: boolean;
  readonly instanceMemory?: ReadonlyMap<string, number> | undefined;
  readonly memory?: number;
};

export function scaleWarnings(
  process: PartialProcess,
  path: JsonPath,
  { parallelism, hasOverrides = false, instanceMemory, memory = allowedMemory() }: WarningContext,
): readonly Finding[] {
  const { scale } = process;
  if (scale === undefined || process.cluster === undefined) return [];
  const now = count(process, parallelism);
  const min = fewestOf(scale.min);
  const max = mostOf(scale.max, parallelism);
  const needed = neededMemory(process, atItsLargest(process, parallelism), { parallelism, instanceMemory });
  return [
    ...(hasOverrides || (now >= min && now <= max)
      ? []
      : [
          {
            path: [...path, "cluster", "instances"],
            message: `Found ${show(process.cluster.instances)}; "scale" allows ${min} to ${max}: it becomes ${now < min ? min : max} once procman has started.`,
          },
        ]),
    ...(needed === undefined || needed.bytes <= memory
      ? []
      : [
          {
            path: [...path, "scale", "max"],
            message: `${needed.of} need ${size(needed.bytes)}, and ${size(memory)} are there: it grows only as far as there is memory. Lower "max", or the memory of an instance.`,
          },
        ]),
  ];
}

/** What all instances may use, by their limit or, without one, by what an instance uses now. undefined: not known. */
function neededMemory(
  { id = "", memoryMax, memoryLimit = memoryMax }: PartialProcess,
  largest: PartialProcess,
  { parallelism, instanceMemory }: Pick<WarningContext, "parallelism" | "instanceMemory">,
): { readonly bytes: number; readonly of: string } | undefined {
  const most = count(largest, parallelism);
  const used = instanceMemory?.get(id);
  if (memoryLimit !== undefined)
    return { bytes: most * parseSize(memoryLimit), of: `${most} instances of up to ${show(memoryLimit)}` };
  return used === undefined
    ? undefined
    : { bytes: most * used, of: `${most} instances of ${size(used)}, which one uses now,` };
}

function allowedMemory(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(totalmem(), limit) : totalmem();
}
