/** The fork of a run: its descriptors and its environment. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, rmSync } from "node:fs";
import type { RunKey, RunningRun, SpawnedReport, SpawnRequest } from "../ipc/keeper-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import { channelVariables, WorkerChannel } from "./worker-channel.ts";

/** Open descriptors for the run. */
type StdioEnds = {
  readonly out?: number | undefined;
  readonly err?: number | undefined;
  /** By which it says that it is ready. */
  readonly notified?: number | undefined;
  /** On which it accepts connections. */
  readonly socket?: number | undefined;
};

/** systemd's SD_LISTEN_FDS_START: the first passed socket. */
const SOCKET_FD = 3;

/** `environment`: of the keeper; the run has its own variables in place of those. @throws what `spawn` of `node:child_process` throws */
export function fork(
  { argv, cwd, env, as, notify, listen, channel }: SpawnRequest,
  { out, err, notified, socket }: StdioEnds,
  environment: NodeJS.ProcessEnv,
): readonly [ChildProcess, WorkerChannel | undefined] {
  if (listen !== undefined && socket === undefined) throw new Error("the socket that it shares was closed meanwhile");
  const [file = "", ...args] = argv;
  const stdio: (number | "ignore" | "pipe")[] = ["ignore", out ?? "ignore", err ?? "ignore"];
  if (socket !== undefined) stdio[SOCKET_FD] = socket;
  if (notify !== undefined && notified !== undefined) stdio[notify.fd] = notified;
  const own = channel === true ? stdio.push("pipe") - 1 : undefined;
  const variables = own === undefined ? env : { ...env, ...channelVariables(own) };
  if ([...argv, cwd, ...Object.entries(variables).flat()].some((text) => text.includes("\0")))
    throw new Error("no argument, folder or variable can hold a NUL byte");
  const child = spawn(file, args, {
    cwd,
    env: { ...environment, ...variables },
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

/** A run that was started a moment ago. */

/** Its start time is looked for when it is written: in the first moments of a process the kernel takes three times as long to say it. */
export function newborn({ slot, run }: RunKey, pid: number, since: number): RunningRun {
  let startTime: string | undefined;
  return {
    slot,
    run,
    pid,
    since,
    get startTime() {
      startTime ??= processStat(pid)?.startTime ?? "";
      return startTime;
    },
  };
}

export function spawnedOf({ slot, run, pid, since }: RunningRun): SpawnedReport {
  return { t: "spawned", slot, run, pid, since };
}
