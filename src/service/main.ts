/** Entry of the service: a child of the keeper, started again by it whenever it ends. */
import { isIP } from "node:net";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { isCaptured } from "../config/normalise.ts";
import type { Config } from "../config/spec.ts";
import { type FromKeeper, PROTOCOL, type ToKeeper } from "../ipc/keeper-protocol.ts";
import { isForKeeping, keepSockets } from "../os/inherited-sockets.ts";
import { startKeeper, takeFailoverOrder } from "../os/keeper-failover.ts";
import { holdYoungGenerationLater } from "../os/node-tuning.ts";
import { configSource, withStateDir } from "./config/config-source.ts";
import { KeeperChannel } from "./keeper-channel.ts";
import { checkExitWith, exitWithWarning } from "./operations/exit-with.ts";
import { readConfigSnapshot } from "./recovery/config-snapshot.ts";
import { ProcmanService } from "./service.ts";
import { parseArgs } from "./service-arguments.ts";
import { definitionOf } from "./spec-registry.ts";

process.title = "procman: service";
holdYoungGenerationLater();
const failoverOrder = takeFailoverOrder();
const sockets = keepSockets();
// The terminal's Ctrl-C and a service manager's SIGTERM are for the keeper, which asks for an orderly stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
const args = parseArgs(process.argv.slice(2));
const { stateDir: previousStateDir, exitWith } = args;
const source = configSource(args);
const config = loadConfig();
// Whoever edits the file must not be the end of supervision: it goes on by what was valid last.
if (config === undefined && previousStateDir === undefined) process.disconnect();
else startService();
// The terminal may be closed; what is said there is lost with it, nothing else. (Last, as the stream takes a millisecond to be made.)
process.stderr.on("error", () => undefined);

/** `batch`: a snapshot, when another service was tried in vain. */
function startService(batch: readonly FromKeeper[] = []): void {
  let service: ProcmanService | undefined;
  const receive = (message: FromKeeper): void => {
    if (isForKeeping(message)) return;
    if (message.t === "refused") return exitRefused(message.reason);
    if (message.t === "aside") return void standBy(service);
    if (message.t === "snapshot") service ??= newService(notedConfig(message), link);
    service?.receive(message);
  };
  const stateDir = config?.stateDir ?? previousStateDir ?? "";
  const link = new KeeperChannel(process, { message: receive, closed: () => void onKeeperGone(stateDir, service) });
  const open = (): void => {
    link.send(openMessage(config ?? { stateDir, processes: [] }));
    link.flush();
  };
  // The keeper takes the state folder while this one goes on; not when a name has to be looked up first, which may take long.
  const isQuick = batch.length === 0 && (config === undefined || isIP(config.api.hostname) !== 0);
  if (isQuick) open();
  service = newService(config, link);
  for (const message of batch) receive(message);
  if (batch.length > 0) return;
  const listening = service?.listen() ?? Promise.resolve();
  if (isQuick) link.hold(listening);
  else void listening.then(open);
}

/** Another service is tried: this one does nothing until it is called back, or ended. */
async function standBy(service: ProcmanService | undefined): Promise<void> {
  await service?.retire();
  const quit = (): never => process.exit();
  const onMessages = (messages: readonly FromKeeper[]): void => {
    const start = messages.findIndex(({ t }) => t === "snapshot");
    if (start < 0) return;
    process.off("message", onMessages).off("disconnect", quit);
    startService(messages.slice(start));
  };
  process.on("message", onMessages).once("disconnect", quit);
  process.send?.([{ t: "aside" }], undefined, undefined, () => undefined);
}

function loadConfig(): Config | undefined {
  try {
    const found = source();
    for (const { file, line, column, message } of found.warnings) process.stderr.write(`procman: ${file}:${line}:${column}: ${message}\n`);
    // Later it may be gone from the file, as any process may.
    if (exitWith !== undefined && previousStateDir === undefined) {
      checkExitWith(exitWith, found);
      const warning = exitWithWarning(exitWith, found);
      if (warning !== undefined) process.stderr.write(`procman: ${warning}\n`);
    }
    return withPreviousStateDir(found);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return undefined;
  }
}

/** A state folder can't be changed while anything runs. */
function withPreviousStateDir(found: Config): Config {
  if (previousStateDir === undefined || found.stateDir === previousStateDir) return found;
  process.stderr.write(
    `procman: the configuration has another name now, and its state folder would be ${found.stateDir}; it stays ${previousStateDir} until procman is restarted\n`,
  );
  return withStateDir(found, previousStateDir);
}

function newService(found: Config | undefined, link: KeeperChannel): ProcmanService | undefined {
  return found === undefined ? undefined : new ProcmanService(found, link, { exitWith, source, watchFile: args.watchConfig, sockets });
}

/** What the last service went by. */
function notedConfig({ notes }: FromKeeper & { readonly t: "snapshot" }): Config | undefined {
  const former = readConfigSnapshot(notes[":config"]);
  if (former === undefined) process.disconnect();
  else {
    process.stderr.write("procman: continuing with the previous configuration\n");
    process.exitCode = undefined;
  }
  return former?.config;
}

/** The keeper is gone, and didn't say so. Another one starts a service of its own. */
async function onKeeperGone(stateDir: string, service: ProcmanService | undefined): Promise<never> {
  // Nobody would do what is asked for here.
  const retired = service?.retire();
  if (failoverOrder !== undefined) await startKeeper(failoverOrder, stateDir, sockets);
  await retired;
  process.exit(EXIT.refused);
}

function exitRefused(reason: string): void {
  process.stderr.write(`procman: Cannot run: ${reason}\n`);
  process.exit(process.exitCode ?? EXIT.refused);
}

/** The first message of a service to its keeper. `captures`: how many processes start at once with output to capture. */
function openMessage({ stateDir, processes }: Pick<Config, "stateDir" | "processes">): ToKeeper {
  const captures = processes.filter((spec) => definitionOf(spec).autostart && isCaptured(spec.log)).length;
  return { t: "open", protocol: PROTOCOL, version: VERSION, stateDir, captures };
}
