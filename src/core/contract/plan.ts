/** Plan of a reload: what a changed configuration file does, or would do. */
import { boolean, enumeration, list, openObject, optional, string } from "../base/schema.ts";

export type { PlannedChange, PlannedSetting, PlanRecord } from "../../../generated/records.ts";

export const PLANNED_ACTIONS = ["start", "stop", "restart", "in-place", "none"] as const;

/** `reason` of a process that a reload leaves as it is. */
export const UNCHANGED = "unchanged";

export function isChange({ reason }: { readonly reason: string }): boolean {
  return reason !== UNCHANGED;
}

/** `in-place`: the change takes effect without a restart. */
export type PlannedAction = (typeof PLANNED_ACTIONS)[number];

export const CHANGE = openObject({
  process: string({ description: "Id of the process or instance." }),
  action: enumeration(PLANNED_ACTIONS, { description: "`in-place`: the change takes effect without a restart." }),
  fields: list(string({ description: "Name in the file." }), { description: "The changed fields." }),
  reason: string({ description: "In one sentence." }),
  rolling: boolean({
    description: "It is restarted once the instance before it is up, and rolled back if it doesn't come up.",
  }),
  problem: optional(string({ description: "After a reload with `wait`: why it is not in the planned state." })),
});

export const SETTING = openObject({
  field: string({ description: "Such as `api.port`." }),
  takesEffect: enumeration(["in-place", "next-run"], {
    description: "`next-run`: when procman is terminated and started again.",
  }),
});

export const PLAN_PARTS = {
  configFile: string({ description: "Absolute path." }),
  profile: optional(
    string({ description: "Name of the profile that is merged over the rest of the file; absent: none." }),
  ),
  processes: list(CHANGE, { description: "In the order of the file; removed ones at the end." }),
  settings: list(SETTING, { description: "Changes outside of `processes`." }),
  warnings: list(string({ description: "With its place." }), { description: "Warnings about the file." }),
} as const;

export const PLAN = openObject(PLAN_PARTS, {
  description: "Plan of a reload: what a changed configuration file does, or would do.",
});
