/** Entry of the service: a child of the keeper, started again by it whenever it ends. */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import type { Config } from "../config/spec.ts";
import { Link } from "../runtime/link.ts";
import { Service } from "./service.ts";

process.title = "procman: service";
// The terminal's Ctrl-C and a service manager's SIGTERM are for the keeper, which asks for an orderly stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// The terminal may be closed; what is said there is lost with it, nothing else.
process.stderr.on("error", () => undefined);
main();

function main(): void {
  const flag = { type: "boolean", default: false } as const;
  const { values } = parseArgs({ options: { config: { type: "string" }, console: flag, detached: flag } });
  const config = configured(values.config, values);
  if (config === undefined) return process.disconnect();
  const link = new Link(process, {
    message: (message) => (message.t === "refused" ? end(message.reason) : service.receive(message)),
    closed: () => process.exit(EXIT.refused),
  });
  const service = new Service(config, link);
  service.open();
}

type Wishes = { readonly console: boolean; readonly detached: boolean };

function configured(path: string | undefined, { console, detached }: Wishes): Config | undefined {
  try {
    const config = load(path, process.cwd());
    for (const { file, line, column, message } of config.warnings) process.stderr.write(`procman: ${file}:${line}:${column}: ${message}\n`);
    const shown = console ? withConsole(config) : config;
    return detached ? withConsoleFile(shown) : shown;
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return undefined;
  }
}

function withConsole(config: Config): Config {
  return { ...config, processes: config.processes.map((spec) => ({ ...spec, log: { ...spec.log, console: true } })) };
}

/** Nobody watches it, so the time belongs to each line. */
function withConsoleFile(config: Config): Config {
  return { ...config, console: { ...config.console, decorate: true, file: join(config.stateDir, "logs/console.log") } };
}

function end(reason: string): void {
  process.stderr.write(`procman: Cannot run: ${reason}\n`);
  process.exit(EXIT.refused);
}
