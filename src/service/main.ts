/** Entry of the service: a child of the keeper, started again by it whenever it ends. */
import { parseArgs } from "node:util";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import type { Config } from "../config/spec.ts";
import { revive, takeRevival } from "../os/revival.ts";
import { Link } from "../runtime/link.ts";
import { Service } from "./service.ts";

process.title = "procman: service";
const revival = takeRevival();
// The terminal's Ctrl-C and a service manager's SIGTERM are for the keeper, which asks for an orderly stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// The terminal may be closed; what is said there is lost with it, nothing else.
process.stderr.on("error", () => undefined);
main();

function main(): void {
  const { values } = parseArgs({
    options: { config: { type: "string" }, console: { type: "boolean", default: false }, "state-dir": { type: "string" } },
  });
  const config = configured(values.config);
  if (config === undefined) return process.disconnect();
  const link = new Link(process, {
    message: (message) => (message.t === "refused" ? end(message.reason) : service.receive(message)),
    closed: () => void leave(config.stateDir),
  });
  const service = new Service(values.console ? withConsole(config) : config, link);
  service.open();
}

function configured(path: string | undefined): Config | undefined {
  try {
    const config = load(path, process.cwd());
    for (const { file, line, column, message } of config.warnings) process.stderr.write(`procman: ${file}:${line}:${column}: ${message}\n`);
    return config;
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

/** The keeper is gone, and didn't say so. Another one starts a service of its own. */
async function leave(stateDir: string): Promise<never> {
  if (revival !== undefined) await revive(revival, stateDir);
  process.exit(EXIT.refused);
}

function end(reason: string): void {
  process.stderr.write(`procman: Cannot run: ${reason}\n`);
  process.exit(EXIT.refused);
}
