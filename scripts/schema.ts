/**
 * Writes what follows from the table of configuration fields: schema.json, the types of the library, a table of the
 * docs. With --check: fails when one of them is not up to date.
 */
import { changeTable, libraryTypes, schemaJson } from "./configuration.ts";
import { inPage, writeMade } from "./made-parts.ts";

const SCRIPT = "scripts/schema.ts";

writeMade(SCRIPT, {
  "schema.json": () => `${JSON.stringify(schemaJson(), null, 2)}\n`,
  "generated/configuration.ts": () =>
    `/** A configuration as it is written, for programs in TypeScript. What each field means in full is in docs/reference/configuration.md. Made by ${SCRIPT}. */\n\n${libraryTypes()}\n`,
  "docs/guide/reload.md": inPage(SCRIPT, changeTable()),
});
