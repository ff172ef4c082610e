/** What a changed configuration file does, or would do. */
import { boolean, enumeration, list, optional, schemaFor, string } from "../base/schema.ts";

export const PLANNED_ACTIONS = ["start", "stop", "restart", "in-place", "none"] as const;

/** `in-place`: it takes the change over as it is. */
export type PlannedAction = (typeof PLANNED_ACTIONS)[number];

export type PlannedChange = {
  /** Id of the process or instance. */
  readonly process: string;
  readonly action: PlannedAction;
  /** What has changed, by the names in the file. */
  readonly fields: readonly string[];
  /** One sentence. */
  readonly reason: string;
  /** It is restarted when the instance before it is up, and undone if it doesn't come up. */
  readonly rolling: boolean;
  /** After a reload that was waited for: why it is not as it should be. */
  readonly problem?: string;
};

export type PlannedSetting = {
  /** As `api.port`. */
  readonly field: string;
  /** `next-run`: when procman is terminated and run again. */
  readonly takesEffect: "in-place" | "next-run";
};

export type PlanRecord = {
  readonly configFile: string;
  /** The one that is merged over the rest of the file, if any is. */
  readonly profile?: string;
  /** In the order of the file; those that are gone from it at the end. */
  readonly processes: readonly PlannedChange[];
  /** What has changed beside the processes. */
  readonly settings: readonly PlannedSetting[];
  /** What is doubtful in the file. */
  readonly warnings: readonly string[];
};

const CHANGE = schemaFor<PlannedChange>({
  process: string({ description: "Id of the process or instance." }),
  action: enumeration(PLANNED_ACTIONS, { description: "`in-place`: it takes the change over as it is." }),
  fields: list(string({ description: "As in the file." }), { description: "What has changed." }),
  reason: string({ description: "In one sentence." }),
  rolling: boolean({ description: "It is restarted when the instance before it is up, and undone if it doesn't come up." }),
  problem: optional(string({ description: "After a reload that was waited for: why it is not as it should be." })),
});

const SETTING = schemaFor<PlannedSetting>({
  field: string({ description: "As `api.port`." }),
  takesEffect: enumeration(["in-place", "next-run"], { description: "`next-run`: when procman is terminated and run again." }),
});

export const PLAN = schemaFor<PlanRecord>(
  {
    configFile: string({ description: "Absolute path." }),
    profile: optional(string({ description: "The one that is merged over the rest of the file; absent: none." })),
    processes: list(CHANGE, { description: "In the order of the file; those that are gone from it at the end." }),
    settings: list(SETTING, { description: "What has changed beside the processes." }),
    warnings: list(string({ description: "With its place." }), { description: "What is doubtful in the file." }),
  },
  { description: "What a changed configuration file does, or would do." },
);
