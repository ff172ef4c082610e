/** Entry of the service: a child of the keeper, started again by it whenever it ends. */
import { parseArgs } from "node:util";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import type { Config } from "../config/spec.ts";
import { type FromKeeper, PROTOCOL } from "../contract/keeper-protocol.ts";
import { Link } from "../runtime/link.ts";
import { checkExitWith } from "./exit-with.ts";
import { CONFIGURATION, readFormer } from "./former.ts";
import { Service } from "./service.ts";

type Options = { readonly config?: string | undefined; readonly console: boolean; readonly exitWith?: string | undefined };

/** The keeper says so: there was a service before, and what it started may run. */
const isRestarted = process.env.PROCMAN_RESTARTED !== undefined;

process.title = "procman: service";
// The terminal's Ctrl-C and a service manager's SIGTERM are for the keeper, which asks for an orderly stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
// The terminal may be closed; what is said there is lost with it, nothing else.
process.stderr.on("error", () => undefined);
main();

function main(): void {
  const options = optionsIn(process.argv.slice(2));
  const config = configured(options);
  // Whoever edits the file must not be the end of supervision: it goes on by what was valid last.
  if (config === undefined && !isRestarted) return process.disconnect();
  let service: Service | undefined;
  const link = new Link(process, {
    message: (message) => {
      if (message.t === "refused") return end(message.reason);
      if (message.t === "snapshot") service ??= serviceOf(formerIn(message), link, options);
      service?.receive(message);
    },
    closed: () => process.exit(EXIT.refused),
  });
  service = serviceOf(config, link, options);
  if (service === undefined) link.send({ t: "open", protocol: PROTOCOL, stateDir: "", captures: 0 });
  else service.open();
}

function optionsIn(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: { config: { type: "string" }, console: { type: "boolean", default: false }, "exit-with": { type: "string" } },
  });
  return { config: values.config, console: values.console ?? false, exitWith: values["exit-with"] };
}

function configured({ config: path, exitWith }: Options): Config | undefined {
  try {
    const config = load(path, process.cwd());
    for (const { file, line, column, message } of config.warnings) process.stderr.write(`procman: ${file}:${line}:${column}: ${message}\n`);
    // Later it may be gone from the file, as any process may.
    if (exitWith !== undefined && !isRestarted) checkExitWith(exitWith, config);
    return config;
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return undefined;
  }
}

function serviceOf(config: Config | undefined, link: Link, { console, exitWith }: Options): Service | undefined {
  return config === undefined ? undefined : new Service(console ? withConsole(config) : config, link, { exitWith });
}

/** What the last service went by. */
function formerIn({ notes }: FromKeeper & { readonly t: "snapshot" }): Config | undefined {
  const former = readFormer(notes[CONFIGURATION]);
  if (former === undefined) process.disconnect();
  else {
    process.stderr.write("procman: it runs on with the configuration that it had\n");
    process.exitCode = undefined;
  }
  return former?.config;
}

function withConsole(config: Config): Config {
  return { ...config, processes: config.processes.map((spec) => ({ ...spec, log: { ...spec.log, console: true } })) };
}

function end(reason: string): void {
  process.stderr.write(`procman: Cannot run: ${reason}\n`);
  process.exit(process.exitCode ?? EXIT.refused);
}
