/**
 * Writes what follows from the table of configuration fields: schema.json, the types of the library, a table of the
 * docs. With --check: fails when one of them is not up to date.
 */
import { changeTable, libraryTypes, schemaJson } from "./configuration.ts";
import { between, inPage, writeMade } from "./made-parts.ts";

const SCRIPT = "scripts/schema.ts";

writeMade(SCRIPT, {
  "schema.json": () => `${JSON.stringify(schemaJson(), null, 2)}\n`,
  "src/satellites/library/configuration.ts": (former) =>
    between(former, [`// made by ${SCRIPT}`, "// end"], libraryTypes()),
  "docs/guide/reload.md": inPage(SCRIPT, changeTable()),
});
