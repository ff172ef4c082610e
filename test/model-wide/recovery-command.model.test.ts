/** As `recovery-wide.model.test.ts`: the largest of its cases, beside it. */
import { checkKills, makeDefinition } from "../model/recovery-model.ts";

checkKills({
  "the service, around a command and a crash": {
    definitions: makeDefinition({}),
    bounds: { commands: 1, exits: 1, services: 1 },
    least: 15_000,
  },
});
