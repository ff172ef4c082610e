/** Entry of the keeper: `procman run` becomes this process. */

import { resolve } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { asCalled } from "../os/called-as.ts";
import { takeSockets } from "../os/inherited-sockets.ts";
import { takeFailedOver } from "../os/keeper-failover.ts";
import { stayCompactLater } from "../os/node-tuning.ts";
import { setTitle } from "../os/part-title.ts";
import { reserveDescriptor } from "../os/shortage.ts";
import { leaveFolder, startFolder } from "../os/start-folder.ts";
import { Keeper } from "./keeper.ts";
import { runOptions, withAbsoluteConfig } from "./keeper-options.ts";
import { warn } from "./log.ts";

/** Variables with a path, which may be relative to the folder of the user. */
const PATHS = ["PROCMAN_CONFIG", "PROCMAN_STATE_DIR", "NODE_EXTRA_CA_CERTS"] as const;

main(process.argv.slice(3));

/** `args` follow the word `run`. */
function main(args: readonly string[]): void {
  setTitle("keeper");
  // An `--inspect` in NODE_OPTIONS is meant for the processes that procman starts.
  if (process.env.NODE_OPTIONS?.includes("--inspect")) process.getBuiltinModule("node:inspector").close();
  stayCompactLater();
  reserveDescriptor();
  warnFirstProcess();
  try {
    leaveFolder(startFolder(runOptions(args).config));
    for (const name of PATHS) if (process.env[name]) process.env[name] = resolve(startFolder(), process.env[name]);
    const ownArgs = withAbsoluteConfig(args, startFolder());
    const start = {
      installation: { node: process.execPath, folder: __dirname },
      args: ownArgs,
      options: runOptions(ownArgs),
      ...takeFailedOver(),
      sockets: takeSockets(),
    };
    new Keeper(start).start();
    // Done while service and logger come up: creating a stream takes a millisecond.
    outliveTerminal();
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    outliveTerminal();
    process.stderr.write(`procman: ${asCalled(error.message)}\n`);
    process.exitCode = error.exitCode;
  }
}

/** The terminal may be closed: output to it is lost, nothing else. */
function outliveTerminal(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

/** PID 1 inherits every orphan, and Node reaps only processes that it has started. */
function warnFirstProcess(): void {
  if (process.pid === 1)
    warn(
      'is PID 1 here: orphans of its processes stay zombies; put an init in front of it, such as "docker run --init" or tini',
    );
}
