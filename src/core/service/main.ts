/** Entry of the service: a child of the keeper, which restarts it whenever it ends. */
import { isIP } from "node:net";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { VERSION } from "../base/version.ts";
import { locate } from "../config/find-config.ts";
import { isCaptured } from "../config/normalise.ts";
import { checkSelection } from "../config/run-selection.ts";
import type { Config } from "../config/spec.ts";
import { completeRollback } from "../history/rollback-files.ts";
import { type FromKeeper, PROTOCOL, type ToKeeper } from "../ipc/keeper-protocol.ts";
import { asCalled } from "../os/called-as.ts";
import { printError, printInStyle } from "../os/error-output.ts";
import { isForKeeping, keepSockets } from "../os/inherited-sockets.ts";
import { fromInstallationOf, startKeeper, takeFailoverOrder } from "../os/keeper-failover.ts";
import { holdYoungGenerationLater, makeThreads } from "../os/node-tuning.ts";
import { setTitle } from "../os/part-title.ts";
import { reserveDescriptor } from "../os/shortage.ts";
import { leaveFolder, startFolder } from "../os/start-folder.ts";
import { checkStateFolder } from "../os/state-folder.ts";
import { configSource, withStateDir } from "./config/config-source.ts";
import { KeeperChannel } from "./keeper-channel.ts";
import { readConfigSnapshot } from "./recovery/config-snapshot.ts";
import { readNote } from "./recovery/notes.ts";
import { ProcmanService } from "./service.ts";
import { parseArgs } from "./service-arguments.ts";
import { styleOf } from "./service-log.ts";
import { definitionOf } from "./spec-registry.ts";

setTitle("service");
leaveFolder();
holdYoungGenerationLater();
reserveDescriptor();
const failoverOrder = takeFailoverOrder();
const sockets = keepSockets();
// Ctrl-C and a service manager's SIGTERM reach the keeper too, which then requests an orderly stop.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
const args = parseArgs(process.argv.slice(2));
const { stateDir: previousStateDir } = args;
let current: ProcmanService | undefined;
const source = configSource(args, () => current?.instanceMemory);
let loadError: ProcmanError | undefined;
const config = loadConfig(args.profile);
// An invalid file must not end supervision: a restarted service continues with the last valid configuration.
if (config === undefined && previousStateDir === undefined) process.disconnect();
else startService();
// A closed terminal must not end the service. (Last, as creating the stream takes a millisecond.)
process.stderr.on("error", () => undefined);

/** `batch`: snapshot to resume from after a failed upgrade. */
function startService(batch: readonly FromKeeper[] = []): void {
  let service: ProcmanService | undefined;
  const receive = (message: FromKeeper, socket?: unknown): void => {
    if (isForKeeping(message)) return;
    if (message.t === "refused") return exitRefused(message.reason);
    if (message.t === "aside") return void standBy(service);
    if (message.t === "snapshot") service ??= newService(notedConfig(message), link);
    service?.receive(message, socket);
  };
  const stateDir = config?.stateDir ?? previousStateDir ?? "";
  const link = new KeeperChannel(process, { message: receive, closed: () => void onKeeperGone(stateDir, service) });
  const open = (): void => {
    link.send({ ...openMessage(config ?? { stateDir, processes: [] }), ...(config && { style: styleOf(config) }) });
    link.flush();
  };
  // The keeper opens the state folder while the service continues, unless a host name has to be looked up, which may
  // take long.
  const isQuick = batch.length === 0 && (config === undefined || isIP(config.api.hostname) !== 0);
  if (isQuick) open();
  makeThreads();
  setTitle("service", stateDir);
  service = newService(config, link);
  for (const message of batch) receive(message);
  if (batch.length > 0) return;
  const listening = service?.listen() ?? Promise.resolve();
  if (isQuick) link.hold(listening);
  else void listening.then(open);
}

/** An upgrade tries another service: this one does nothing until it gets a snapshot again, or is ended. */
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

/** A rollback that was cut off has left the files in part: they are completed first. */
function readConfig(profile: string | undefined): Config {
  const read = (): Config => source(undefined, profile, "apply");
  if (previousStateDir !== undefined) completeRollback(previousStateDir);
  try {
    const found = read();
    return previousStateDir === undefined && completeRollback(found.stateDir) ? read() : found;
  } catch (error) {
    if (previousStateDir !== undefined) throw error;
    if (!completeRollback(locate(args.config, startFolder(args.config)).stateDir)) throw error;
    return read();
  }
}

function loadConfig(profile: string | undefined): Config | undefined {
  try {
    const found = readConfig(profile);
    checkStateFolder(previousStateDir ?? found.stateDir);
    printInStyle(found.console);
    for (const { file, line, column, message } of found.warnings)
      printError(`${file}:${line}:${column}: ${message}`, "warn");
    // Only at the first start: later a process may be removed from the file.
    if (previousStateDir === undefined) checkSelection(args, found);
    return withPreviousStateDir(found);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    // Later it continues with the previous configuration.
    if (previousStateDir === undefined) process.stderr.write(`procman: ${asCalled(error.message)}\n`);
    loadError = error;
    process.exitCode = error.exitCode;
    return undefined;
  }
}

/** The state folder can't change while procman runs. */
function withPreviousStateDir(found: Config): Config {
  if (previousStateDir === undefined || found.stateDir === previousStateDir) return found;
  printError(
    `the configuration has another name now, and its state folder would be ${found.stateDir}; it stays ${previousStateDir} until procman is restarted`,
  );
  return withStateDir(found, previousStateDir);
}

function newService(found: Config | undefined, link: KeeperChannel): ProcmanService | undefined {
  if (found === undefined) return undefined;
  const { profile, watchConfig: watchFile } = args;
  current = new ProcmanService(found, link, { ends: args, source, profile, watchFile, sockets });
  return current;
}

/** With the profile that a reload has asked the previous service for; else the configuration of that service. */
function notedConfig({ notes }: FromKeeper & { readonly t: "snapshot" }): Config | undefined {
  const noted = readNote(":profile", notes, "");
  const found = noted === undefined || noted.ofRun !== args.profile ? undefined : loadConfig(noted.profile);
  if (found !== undefined) {
    process.exitCode = undefined;
    return found;
  }
  if (loadError !== undefined) printError(loadError.message);
  const snapshot = readConfigSnapshot(notes[":config"]);
  if (snapshot === undefined) process.disconnect();
  else {
    printError("continuing with the previous configuration");
    process.exitCode = undefined;
  }
  return snapshot?.config;
}

/** The keeper has died: starts another keeper if it may (`failoverOrder`), which starts its own service; this one ends. */
async function onKeeperGone(stateDir: string, service: ProcmanService | undefined): Promise<never> {
  // Requests can't be carried out any more.
  const retired = service?.retire();
  if (failoverOrder !== undefined)
    await startKeeper(fromInstallationOf(process.argv[1] ?? "", failoverOrder), stateDir, sockets);
  await retired;
  process.exit(EXIT.refused);
}

function exitRefused(reason: string): void {
  printError(`Cannot run: ${reason}`);
  process.exit(process.exitCode ?? EXIT.refused);
}

/** The first message of a service to its keeper. `captures`: how many processes start at once with output to capture. */
function openMessage({
  stateDir,
  file,
  processes,
}: Pick<Config, "stateDir" | "processes"> & Partial<Pick<Config, "file">>): ToKeeper {
  const captures = processes.filter((spec) => definitionOf(spec).autostart && isCaptured(spec.log)).length;
  const uids = Object.fromEntries(processes.flatMap(({ id, user }) => (user === undefined ? [] : [[id, user.uid]])));
  return {
    t: "open",
    protocol: PROTOCOL,
    version: VERSION,
    stateDir,
    ...(file !== undefined && { file }),
    captures,
    uids,
  };
}
