/** The fork of a run: its descriptors and its environment. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, rmSync } from "node:fs";
import type { SpawnRequest } from "../contract/keeper-protocol.ts";
import { channelVariables, WorkerChannel } from "./worker-channel.ts";

/** Open descriptors for the run. */
type Ends = {
  readonly out?: number | undefined;
  readonly err?: number | undefined;
  /** By which it says that it is ready. */
  readonly notified?: number | undefined;
  /** On which it accepts connections. */
  readonly socket?: number | undefined;
};

/** systemd's SD_LISTEN_FDS_START: the first passed socket. */
const SOCKET_FD = 3;

/** @throws what `spawn` throws */
export function fork(
  { argv, cwd, env, as, notify, listen, channel }: SpawnRequest,
  { out, err, notified, socket }: Ends,
  environment: NodeJS.ProcessEnv,
): readonly [ChildProcess, WorkerChannel | undefined] {
  if (listen !== undefined && socket === undefined) throw new Error("the socket that it shares was closed meanwhile");
  const [program = "", ...args] = argv;
  const stdio: (number | "ignore" | "pipe")[] = ["ignore", out ?? "ignore", err ?? "ignore"];
  if (socket !== undefined) stdio[SOCKET_FD] = socket;
  if (notify !== undefined && notified !== undefined) stdio[notify.fd] = notified;
  const own = channel === true ? stdio.push("pipe") - 1 : undefined;
  const child = spawn(program, args, {
    cwd,
    env: { ...environment, ...env, ...(own === undefined ? {} : channelVariables(own)) },
    ...as,
    detached: true,
    stdio: Array.from(stdio, (fd) => fd ?? "ignore"),
  });
  return [child, own === undefined || child.pid === undefined ? undefined : new WorkerChannel(child, own)];
}

/** What an earlier run may still write to is another file. */
export function openAnew(file: string): number {
  rmSync(file, { force: true });
  return openSync(file, "ax", 0o600);
}
