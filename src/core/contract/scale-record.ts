/** How a cluster with `scale` is scaled, in its record. */
import type { ProcessRecord } from "../../../generated/records.ts";
import { integer, literal, openObject, optional, string, time } from "../base/schema.ts";

export const SCALE_RECORD = openObject(
  {
    min: integer({ description: "Fewest instances now." }),
    max: integer({ description: "Most instances now." }),
    desired: integer({ description: "Instances that its load needs now, within these bounds." }),
    unknown: optional({
      type: "array",
      items: string(),
      description: "Targets of which the load is not known: it doesn't shrink meanwhile, and grows only by others.",
    }),
    pinned: optional(literal(true, { description: "It has a number that was asked for by hand." })),
    schedule: optional(string({ description: "The schedule that has set the bounds, as it is written." })),
    nextSchedule: optional(time({ description: "When a schedule sets them next." })),
    nextMin: optional(integer({ description: "Fewest instances from then on." })),
    nextMax: optional(integer({ description: "Most instances from then on." })),
    timeZone: optional(string({ description: "Time zone of its schedules, if one is configured." })),
    last: optional(
      openObject(
        {
          time: time({ description: "When." }),
          from: integer({ description: "Instances before." }),
          to: integer({ description: "Instances after." }),
          reason: string({ description: "Why." }),
        },
        { description: "The latest change by load or schedule." },
      ),
    ),
    refused: optional(
      openObject(
        {
          time: time({ description: "Since when." }),
          wanted: integer({ description: "Instances that it would need." }),
          reason: string({ description: "Why it doesn't get them." }),
        },
        { description: "While it needs more instances, and gets none." },
      ),
    ),
  },
  { description: "How a cluster with `scale` is scaled." },
);

type Bounds = { readonly min?: number | undefined; readonly max?: number | undefined };

/** `at least 4, at most 8 instances`. undefined: an earlier procman doesn't say. */
export function boundsText({ min, max }: Bounds): string | undefined {
  if (min === undefined || max === undefined) return undefined;
  const instances = max === 1 ? "instance" : "instances";
  return min === max ? `${max} ${instances}` : `at least ${min}, at most ${max} ${instances}`;
}

/** What keeps a cluster from shrinking, as nothing is known of it. */
export function unknownText(targets: readonly string[]): string {
  const each = targets.map((name) =>
    name.startsWith("metric:")
      ? `no instance has reported ${name} in the last minute`
      : `${name} has not been measured yet`,
  );
  return `Its load is not known: ${each.join(", and ")}. Until then it doesn't shrink, and grows only by other targets.`;
}

/** Bytes that one instance uses on average, by cluster; without clusters of which none runs. */
export function instanceMemory(records: readonly ProcessRecord[]): ReadonlyMap<string, number> {
  return new Map(
    records.flatMap(({ id, instances = [] }) => {
      const sizes = instances.flatMap(({ memoryBytes }) => memoryBytes ?? []);
      return sizes.length === 0 ? [] : [[id, sizes.reduce((sum, bytes) => sum + bytes, 0) / sizes.length] as const];
    }),
  );
}
