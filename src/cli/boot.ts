/** What the bin loads for every command but `run`: answers the smallest itself, and loads `control-main.ts` or `main.ts` by way of their compiled code for the others. */
import { join } from "node:path";
import { EXIT } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { runCompiled } from "../os/compiled.ts";
import { isControl, overview } from "./overview.ts";

const [name, topic] = process.argv.slice(2);
if (name === "version" || name === "--version" || name === "-V") process.stdout.write(`${VERSION}\n`);
else if (name === undefined || name === "--help" || name === "-h" || (name === "help" && topic === undefined)) {
  process.stdout.write(`${overview()}\n`);
  process.exitCode = name === undefined ? EXIT.usage : EXIT.done;
} else
  runCompiled(join(__dirname, isControl(name === "help" ? topic : name) ? "cli-control.cjs" : "cli-main.cjs"), {
    schedule: (keep) => process.once("exit", keep),
    isLazy: true,
  });
