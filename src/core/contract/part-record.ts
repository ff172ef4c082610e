/** Record of one of procman's own processes, with the schema. */
import { enumeration, integer, optional, schemaFor, string } from "../base/schema.ts";

/** One of procman's own processes. */
export type PartRecord = {
  readonly part: "keeper" | "service" | "logger" | "balancer";
  readonly pid: number;
  /** Absent: not known yet. After an upgrade the keeper stays at its version. */
  readonly version?: string;
  /** Private memory, as of a process; of the balancer: with its further processes. Absent on other systems than Linux. */
  readonly memoryBytes?: number;
};

export const PART = schemaFor<PartRecord>(
  {
    part: enumeration(["keeper", "service", "logger", "balancer"]),
    pid: integer({ description: "Its pid." }),
    version: optional(string({ description: "After an upgrade the keeper stays at its version. Absent: not known." })),
    memoryBytes: optional(
      integer({
        description: "Private memory; of the balancer, with its other processes. Only on Linux.",
      }),
    ),
  },
  { description: "One of procman's own processes." },
);
