/** Loaded by the bin for every command except `run`: prints version and overview itself, loads `main.ts` through its code cache for the others. */
import { join } from "node:path";
import { EXIT } from "../core/base/errors.ts";
import { VERSION } from "../core/base/version.ts";
import { runCached } from "../core/os/code-cache.ts";
import { overview } from "./output/overview.ts";
import { endIfUnwritten } from "./output/standard-output.ts";

endIfUnwritten();
const [name, topic] = process.argv.slice(2);
if (name === "version" || name === "--version" || name === "-V" || name === "-v") process.stdout.write(`${VERSION}\n`);
else if (
  name === undefined ||
  name === "--help" ||
  name === "-h" ||
  (name === "help" && (topic === undefined || topic === "help" || topic === "version"))
) {
  process.stdout.write(`${overview()}\n`);
  process.exitCode = name === undefined ? EXIT.usage : EXIT.done;
} else runCached(join(__dirname, "cli-main.cjs"), "exit");
