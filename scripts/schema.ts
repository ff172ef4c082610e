/** Writes schema.json from the schema of the configuration. With --check: fails when the file is not up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import * as z from "zod/mini";
import { described, type Json } from "../src/config/json-schema.ts";
import { configuration } from "../src/config/schema.ts";
import { zodOf } from "../src/config/zod-schema.ts";

const file = new URL("../schema.json", import.meta.url);
const derived = z.toJSONSchema(zodOf(configuration), { target: "draft-7", io: "input" });
const text = `${JSON.stringify(described(derived as Json), null, 2)}\n`;

if (!process.argv.includes("--check")) {
  writeFileSync(file, text);
} else if (readFileSync(file, "utf8") !== text) {
  console.error("schema.json is not up to date: run `node --import tsx scripts/schema.ts`");
  process.exitCode = 1;
}
