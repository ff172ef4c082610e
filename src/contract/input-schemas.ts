/** What may be sent to procman, as schemas. A member that the type has and the schema has not is an error of the compiler. */
import type { Scaling } from "./control.ts";
import type { JsonSchema } from "./json-schema.ts";
import { type LogSubmission, SEVERITIES, type TelemetryReport } from "./records.ts";

type Members<T> = Readonly<Record<keyof T, JsonSchema>>;

/** As in the configuration. */
export const MOST_INSTANCES = 1_024;

const bytes: JsonSchema = { type: "number", minimum: 0, description: "Bytes." };
const id: JsonSchema = { type: "string", minLength: 1, maxLength: 80, description: "Id of a process or an instance." };

export const LOG_SUBMISSION: JsonSchema = {
  type: "object",
  description: "What is put into the log.",
  required: ["text"],
  additionalProperties: false,
  properties: {
    text: { type: "string", maxLength: 65_536, description: "What happened." },
    severity: { type: "string", enum: SEVERITIES, default: "info" },
    process: { ...id, description: "Whom it is about; with a process's own token always itself." },
  } satisfies Members<LogSubmission>,
};

export const SCALING: JsonSchema = {
  type: "object",
  description: "How many instances a cluster shall have: `instances`, or `by`.",
  additionalProperties: false,
  properties: {
    instances: {
      oneOf: [{ type: "integer", minimum: 1, maximum: MOST_INSTANCES }, { const: "max" }],
      description: 'So many; `"max"`: one for each processor.',
    },
    by: { type: "integer", minimum: -MOST_INSTANCES, maximum: MOST_INSTANCES, description: "So many more; below 0: fewer." },
  } satisfies Members<Scaling>,
};

export const TELEMETRY_REPORT: JsonSchema = {
  type: "object",
  description: "What a process says about itself.",
  required: ["process", "memory", "cwd", "sent"],
  additionalProperties: false,
  properties: {
    process: id,
    memory: {
      type: "object",
      required: ["rss", "heapTotal", "heapUsed", "external"],
      additionalProperties: false,
      properties: { rss: bytes, heapTotal: bytes, heapUsed: bytes, external: bytes } satisfies Members<TelemetryReport["memory"]>,
    },
    cwd: { type: "string", maxLength: 4_096, description: "Its working directory." },
    sent: { type: "string", format: "date-time", maxLength: 40, description: "When it was sent." },
    metrics: {
      type: "object",
      description: "Numbers of its own.",
      maxProperties: 200,
      additionalProperties: { type: "number" },
    },
  } satisfies Members<TelemetryReport>,
};
