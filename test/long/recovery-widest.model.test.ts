/** As `test/model-wide/recovery-wide.model.test.ts`, with so many events at a time that it takes minutes. */
import { chained, checkKills, makeDefinition } from "../model/recovery-model.ts";

checkKills({
  "the service with a process that restarts with its dependency, around a crash": {
    definitions: chained(true, { restartDelayMs: 0 }),
    bounds: { exits: 1, services: 1 },
    least: 5_000,
  },
  "the service with a process that restarts with its dependency, around a command": {
    definitions: chained(true),
    bounds: { commands: 1, services: 1 },
    least: 15_000,
  },
  // Two commands without a kill are 230 000 states, a command and a kill of the keeper 83 000.
  "the service, around a command and the end of a run with a restart order": {
    definitions: makeDefinition({}, { restartDelayMs: 0 }),
    bounds: { commands: 1, exits: 1, services: 1 },
    least: 40_000,
  },
  "the keeper, around a command and a crash": {
    definitions: makeDefinition({}),
    bounds: { commands: 1, exits: 1, keepers: 1 },
    least: 15_000,
  },
});
