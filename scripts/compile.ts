/** After the build: lets the service read a configuration once and keeps the code that V8 compiled for it, as a first run of five seconds would. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { compileNow } from "../src/os/compiled.ts";

const file = fileURLToPath(new URL("../dist/service-main.cjs", import.meta.url));
const config = join(mkdtempSync(join(tmpdir(), "procman-compile-")), "procman.json");
writeFileSync(
  config,
  JSON.stringify({ processes: [{ id: "web", cmd: "true", autostart: true, cron: "0 3 * * *", logger: { stdout: "{id}.log" } }] }),
);
process.argv.splice(2, process.argv.length, "--config", config);
compileNow(file);
process.exit(0);
