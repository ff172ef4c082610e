/** As `recovery-wide.model.test.ts`, with a process and its dependency. */
import { chained, checkKills } from "../model/recovery-model.ts";

checkKills({
  "the service with a process that waits for the end of its dependency": {
    definitions: chained(false, { restart: "error", condition: "finished" }),
    bounds: { exits: 2, services: 1 },
    least: 1_000,
  },
  // With a crash as well it is 124 000 states, which takes minutes.
  "the keeper with a process that restarts with its dependency": {
    definitions: chained(true),
    bounds: { keepers: 1 },
    least: 1_000,
  },
});
