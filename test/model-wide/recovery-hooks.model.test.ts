/** As `recovery-wide.model.test.ts`, with hooks and with overlapping runs. */
import { checkKills, hooked, makeDefinition } from "../model/recovery-model.ts";

checkKills({
  "the keeper, around overlapping runs": {
    definitions: makeDefinition({ overrun: true }, { restart: "never" }),
    bounds: { commands: 1, keepers: 1 },
    least: 2_500,
  },
  "the service, around hooks and a stop": {
    definitions: hooked(),
    bounds: { commands: 1, services: 1 },
    least: 2_500,
  },
  "the service, around a crash with hooks": {
    definitions: hooked(),
    bounds: { exits: 1, failures: 1, services: 1 },
    least: 2_500,
  },
});
