/** As `recovery-wide.model.test.ts`: a process that sleeps without clients. */
import { checkKills, makeDefinition } from "../model/recovery-model.ts";

const sleeper = makeDefinition({}, { restart: "never", idleMs: 60_000 });

checkKills({
  "the service, around two commands of what sleeps": {
    definitions: sleeper,
    bounds: { commands: 2, services: 1 },
    least: 5_000,
  },
  "the keeper, around two commands of what sleeps": {
    definitions: sleeper,
    bounds: { commands: 2, keepers: 1 },
    least: 5_000,
  },
});
