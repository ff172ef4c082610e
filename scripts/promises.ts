/** Records what this version promises, at a release: `test/fixtures/promises.json`. Refuses while something of the record is broken. */
import { writeFileSync } from "node:fs";
import { VERSION } from "../src/core/base/version.ts";
import { breaksOf, RECORD, recordedPromises, recordOf } from "./promise-breaks.ts";
import { promises } from "./promise-tables.ts";

const [first] = VERSION.split(".");
const present = await promises();
const recorded = recordedPromises();
const breaks = recorded.version.split(".")[0] === first ? breaksOf(recorded, present) : [];
if (breaks.length > 0) {
  console.error(
    `${breaks.join("\n")}\nThese break docs/reference/reliability.md: restore them, or give the version a new first number`,
  );
  process.exitCode = 1;
} else writeFileSync(RECORD, `${JSON.stringify(recordOf(present, VERSION), null, 2)}\n`);
