/** Starts the program of a run: which descriptors it gets, and its environment. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import type { SpawnRequest } from "../contract/keeper-protocol.ts";

/** Open descriptors for the run. */
export type Ends = {
  readonly out?: number | undefined;
  readonly err?: number | undefined;
  /** By which it says that it is ready. */
  readonly notified?: number | undefined;
  /** On which it accepts connections. */
  readonly socket?: number | undefined;
};

/** systemd's SD_LISTEN_FDS_START: the first passed socket. */
const SOCKET_FD = 3;

export function launch({ argv, cwd, env, as, notify }: SpawnRequest, ends: Ends, environment: NodeJS.ProcessEnv): ChildProcess {
  const { out, err, notified, socket } = ends;
  const [program = "", ...args] = argv;
  const stdio: (number | "ignore")[] = ["ignore", out ?? "ignore", err ?? "ignore"];
  if (socket !== undefined) stdio[SOCKET_FD] = socket;
  if (notify !== undefined && notified !== undefined) stdio[notify.fd] = notified;
  return spawn(program, args, {
    cwd,
    env: { ...environment, ...env },
    ...as,
    detached: true,
    stdio: Array.from(stdio, (fd) => fd ?? "ignore") as StdioOptions,
  });
}
