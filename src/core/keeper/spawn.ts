/** The fork of a run: its descriptors and its environment. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { closeSync, constants, fchownSync, openSync, rmSync } from "node:fs";
import { inheritedVariables } from "../base/inherited-variables.ts";
import type { RunKey, RunningRun, SpawnedReport, SpawnRequest } from "../ipc/keeper-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import { channelVariables, WorkerChannel } from "./worker-channel.ts";

/** Open descriptors for the run. */
type StdioEnds = {
  readonly input?: number | undefined;
  readonly out?: number | undefined;
  readonly err?: number | undefined;
  /** On which it reports that it is ready. */
  readonly notifyFd?: number | undefined;
  /** On which it counts its clients. */
  readonly clientsFd?: number | undefined;
  /** On which its terminal is shown. */
  readonly screenFd?: number | undefined;
  /** On which it accepts connections. */
  readonly socket?: number | undefined;
};

/** systemd's SD_LISTEN_FDS_START: the first passed socket. */
const SOCKET_FD = 3;

/** `environment`: the keeper's; the variables of the run override it. @throws what `spawn` of `node:child_process` throws */
export function fork(
  { argv, cwd, env, inherit, as, notify, clients, screen, listen, channel, farewell }: SpawnRequest,
  { input, out, err, notifyFd, clientsFd, screenFd, socket }: StdioEnds,
  environment: NodeJS.ProcessEnv,
): readonly [ChildProcess, WorkerChannel | undefined] {
  if (listen !== undefined && socket === undefined) throw new Error("its shared socket was closed meanwhile");
  const [file = "", ...args] = argv;
  const stdio: (number | "ignore" | "pipe")[] = [input ?? "ignore", out ?? "ignore", err ?? "ignore"];
  if (socket !== undefined) stdio[SOCKET_FD] = socket;
  const named = [
    [notify, notifyFd],
    [clients, clientsFd],
    [screen, screenFd],
  ] as const;
  for (const [place, fd] of named) if (place !== undefined && fd !== undefined) stdio[place.fd] = fd;
  const channelFd = channel === true ? stdio.push("pipe") - 1 : undefined;
  const variables = channelFd === undefined ? env : { ...env, ...channelVariables(channelFd) };
  if ([...argv, cwd, ...Object.entries(variables).flat()].some((text) => text.includes("\0")))
    throw new Error("no argument, folder or variable can hold a NUL byte");
  const child = spawn(file, args, {
    cwd,
    env: { ...inheritedVariables(environment, inherit), ...variables },
    ...as,
    detached: true,
    stdio: Array.from(stdio, (fd) => fd ?? "ignore"),
  });
  return [
    child,
    channelFd === undefined || child.pid === undefined ? undefined : new WorkerChannel(child, channelFd, farewell),
  ];
}

/** A new file: an earlier run may still write to the old one. `flags`: how it is opened, "ax" to append. */
export function recreateFile(file: string, flags: "ax" | "wx" = "ax"): number {
  rmSync(file, { force: true });
  return openSync(file, flags, 0o600);
}

/** Standard input of a run: an empty FIFO, open for reading and writing. An earlier run may still read the old one. */
export function recreateInput(file: string, { uid, gid }: NonNullable<SpawnRequest["as"]> = {}): number {
  recreateFifo(file);
  const fd = openSync(file, constants.O_RDWR);
  // A program may open /dev/stdin.
  if (uid !== undefined) fchownSync(fd, uid, gid ?? -1);
  return fd;
}

/** The end of a new FIFO into which a run writes, without waiting; nobody reads it yet. */
export function recreateScreen(file: string): number {
  recreateFifo(file);
  // Without a reader it can't be opened.
  const both = openSync(file, constants.O_RDWR);
  try {
    return openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
  } finally {
    closeSync(both);
  }
}

function recreateFifo(file: string): void {
  rmSync(file, { force: true });
  execFileSync("mkfifo", ["-m", "600", file], { stdio: ["ignore", "ignore", "pipe"] });
}

/** The record of a run just started. Its start time is read when it is first used: right after a fork, reading it takes three times as long. */
export function newRun({ slot, run }: RunKey, pid: number, since: number): RunningRun {
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

export function spawnedReport({ slot, run, pid, since }: RunningRun): SpawnedReport {
  return { t: "spawned", slot, run, pid, since };
}
