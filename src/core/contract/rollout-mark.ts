/** What a host keeps with each thing that it has done as a step of a rollout over several hosts. */
import { openObject, optional, string, type TypeOf } from "../base/schema.ts";

export const ROLLED_BY = optional(
  string({ maxLength: 200, description: "User and machine of the client, as it says." }),
);

export const ROLLOUT_MARK = openObject(
  { id: string({ description: "Its id, the same on all hosts." }), by: ROLLED_BY },
  { description: "The rollout over several hosts of which it was a step." },
);

export type RolloutMark = TypeOf<typeof ROLLOUT_MARK>;
