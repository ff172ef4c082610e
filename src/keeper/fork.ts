/** The fork of a run: its descriptors and its environment. */
import { type ChildProcess, spawn } from "node:child_process";
import { openSync, rmSync } from "node:fs";
import type { SpawnRequest } from "../contract/keeper-protocol.ts";
import { channelVariables, WorkerChannel } from "./worker-channel.ts";

/** `notified`: what is open for `notify`. @throws what `spawn` throws */
export function fork(
  { argv, cwd, env, as, notify, channel }: SpawnRequest,
  environment: NodeJS.ProcessEnv,
  [out, err]: readonly number[],
  notified?: number,
): readonly [ChildProcess, WorkerChannel | undefined] {
  const [program, ...args] = argv;
  const further = notify === undefined ? [] : [...Array<"ignore">(notify.fd - 3).fill("ignore"), notified];
  const own = channel === true ? 3 + further.length : undefined;
  const child = spawn(program ?? "", args, {
    cwd,
    env: { ...environment, ...env, ...(own === undefined ? {} : channelVariables(own)) },
    ...as,
    detached: true,
    stdio: ["ignore", out ?? "ignore", err ?? "ignore", ...further, ...(own === undefined ? [] : (["pipe"] as const))],
  });
  return [child, own === undefined || child.pid === undefined ? undefined : new WorkerChannel(child, own)];
}

/** What an earlier run may still write to is another file. */
export function openAnew(file: string): number {
  rmSync(file, { force: true });
  return openSync(file, "ax", 0o600);
}
