/** `procman schema`: prints the JSON schema of the configuration file, for editors. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { packageRoot } from "../../client/connection/package-root.ts";

export function define(parent: Command): void {
  parent
    .command("schema")
    .description(
      'Prints the JSON schema. Save it, and refer to it with "$schema" in the configuration file, so that editors complete and check it.',
    )
    .action(() => {
      process.stdout.write(readFileSync(join(packageRoot(), "schema.json"), "utf8"));
    });
}
