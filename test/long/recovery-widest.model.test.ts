/** As `test/model-wide/recovery-wide.model.test.ts`, with so many events at a time that it takes minutes. */
import { checkKills, makeDefinition } from "../model/recovery-model.ts";

checkKills({
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
