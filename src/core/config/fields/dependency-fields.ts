/** Fields of an entry of `dependsOn`. */
import { enumeration, union } from "../../base/schema.ts";
import { CONDITIONS } from "../../supervisor/definition.ts";
import { type Fields, flag, name, objectOf, optional } from "./field.ts";

export const DEPENDENCY = {
  id: { type: name, description: "Id of a process or a cluster." },
  condition: {
    type: optional(enumeration(CONDITIONS)),
    description:
      "The required state: it was started, it is ready, it has finished successfully, or it has completed, with any code.",
    default: "ready",
  },
  restart: { type: flag, description: "Restart the dependent when this process was restarted.", default: false },
} as const satisfies Fields;

const entry = objectOf(DEPENDENCY, { description: "A process that must come up first." });

export const dependencyType = union([name, entry], { allowed: "an id, or an object with id, condition and restart" });
