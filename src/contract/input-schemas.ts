/** What may be sent to procman, as schemas. A member that the type has and the schema has not is an error of the compiler. */
import { enumeration, integer, map, number, optional, type Schema, schemaFor, string, time } from "../base/schema.ts";
import type { Scaling } from "./control.ts";
import { type LogSubmission, type MemoryRecord, SEVERITIES, type TelemetryReport } from "./records.ts";

/** As in the configuration. */
export const MOST_INSTANCES = 1_024;

const CLOSED = { additionalProperties: false } as const;
const bytes = number({ minimum: 0, description: "Bytes." });
const idSchema = (description: string): Schema<string> => string({ minLength: 1, maxLength: 80, description });

export const LOG_SUBMISSION: Schema<LogSubmission> = schemaFor<LogSubmission>(
  {
    text: string({ maxLength: 65_536, description: "What happened." }),
    severity: optional(enumeration(SEVERITIES, { default: "info" })),
    process: optional(idSchema("Whom it is about; with a process's own token always itself.")),
  },
  { ...CLOSED, description: "What is put into the log." },
);

const instances: Schema<number | "max"> = {
  oneOf: [integer({ minimum: 1, maximum: MOST_INSTANCES }), { const: "max" }],
  description: 'So many; `"max"`: one for each processor.',
};

export const SCALING: Schema<Scaling> = schemaFor<Scaling>(
  {
    instances: optional(instances),
    by: optional(integer({ minimum: -MOST_INSTANCES, maximum: MOST_INSTANCES, description: "So many more; below 0: fewer." })),
  },
  { ...CLOSED, description: "How many instances a cluster shall have: `instances`, or `by`." },
);

export const TELEMETRY_REPORT: Schema<TelemetryReport> = schemaFor<TelemetryReport>(
  {
    process: idSchema("Id of a process or an instance."),
    memory: schemaFor<MemoryRecord>({ rss: bytes, heapTotal: bytes, heapUsed: bytes, external: bytes }, CLOSED),
    cwd: string({ maxLength: 4_096, description: "Its working directory." }),
    sent: time({ maxLength: 40, description: "When it was sent." }),
    metrics: optional(map(number(), { maxProperties: 200, description: "Numbers of its own." })),
  },
  { ...CLOSED, description: "What a process says about itself." },
);
