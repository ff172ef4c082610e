/** What a changed configuration file does, or would do. */
import type { JsonSchema } from "./json-schema.ts";

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

const text = (description: string): JsonSchema => ({ type: "string", description });

const CHANGE: JsonSchema = {
  type: "object",
  required: ["process", "action", "fields", "reason", "rolling"],
  properties: {
    process: text("Id of the process or instance."),
    action: { type: "string", enum: PLANNED_ACTIONS, description: "`in-place`: it takes the change over as it is." },
    fields: { type: "array", items: text("As in the file."), description: "What has changed." },
    reason: text("In one sentence."),
    rolling: { type: "boolean", description: "It is restarted when the instance before it is up, and undone if it doesn't come up." },
    problem: text("After a reload that was waited for: why it is not as it should be."),
  } satisfies Readonly<Record<keyof PlannedChange, JsonSchema>>,
};

const SETTING: JsonSchema = {
  type: "object",
  required: ["field", "takesEffect"],
  properties: {
    field: text("As `api.port`."),
    takesEffect: { type: "string", enum: ["in-place", "next-run"], description: "`next-run`: when procman is terminated and run again." },
  } satisfies Readonly<Record<keyof PlannedSetting, JsonSchema>>,
};

export const PLAN: JsonSchema = {
  type: "object",
  description: "What a changed configuration file does, or would do.",
  required: ["configFile", "processes", "settings", "warnings"],
  properties: {
    configFile: text("Absolute path."),
    profile: text("The one that is merged over the rest of the file; absent: none."),
    processes: { type: "array", items: CHANGE, description: "In the order of the file; those that are gone from it at the end." },
    settings: { type: "array", items: SETTING, description: "What has changed beside the processes." },
    warnings: { type: "array", items: text("With its place."), description: "What is doubtful in the file." },
  } satisfies Readonly<Record<keyof PlanRecord, JsonSchema>>,
};
