/** The fork of a run: its descriptors and its environment. */
import { ChildProcess, type StdioOptions } from "node:child_process";
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

/** What `spawn` of `node:child_process` calls in the end, and many packages patch: it has been the same since Node 0.12. */
type Forking = {
  spawn(options: {
    readonly file: string;
    /** The first is the name by which the program is called. */
    readonly args: readonly string[];
    readonly cwd: string;
    readonly envPairs: readonly string[];
    readonly detached: boolean;
    readonly stdio: StdioOptions;
    readonly uid?: number;
    readonly gid?: number;
  }): void;
};

/** systemd's SD_LISTEN_FDS_START: the first passed socket. */
const SOCKET_FD = 3;

/**
 * The variables of the keeper as a fork takes them. To check and join all of them for each fork is a twelfth of what a fork takes;
 * and a loop over them would be hot in a rush of starts, when compiling it keeps a processor busy for ten milliseconds.
 */
export class Environment {
  readonly #pairs: ReadonlyMap<string, string>;
  readonly #all: readonly string[];

  constructor(variables: NodeJS.ProcessEnv) {
    this.#pairs = new Map(Object.entries(variables).map(([name, value]) => [name, `${name}=${value}`]));
    this.#all = [...this.#pairs.values()];
  }

  /** With these in place of its own of the same names. */
  with(variables: Readonly<Record<string, string>>): readonly string[] {
    const given = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
    const replaced = new Set(Object.keys(variables).map((name) => this.#pairs.get(name)));
    replaced.delete(undefined);
    return given.concat(replaced.size === 0 ? this.#all : this.#all.filter((pair) => !replaced.has(pair)));
  }
}

/** @throws what `spawn` of `node:child_process` throws */
export function fork(
  { argv, cwd, env, as, notify, listen, channel }: SpawnRequest,
  { out, err, notified, socket }: Ends,
  environment: Environment,
): readonly [ChildProcess, WorkerChannel | undefined] {
  if (listen !== undefined && socket === undefined) throw new Error("the socket that it shares was closed meanwhile");
  const [file = ""] = argv;
  const stdio: (number | "ignore" | "pipe")[] = ["ignore", out ?? "ignore", err ?? "ignore"];
  if (socket !== undefined) stdio[SOCKET_FD] = socket;
  if (notify !== undefined && notified !== undefined) stdio[notify.fd] = notified;
  const own = channel === true ? stdio.push("pipe") - 1 : undefined;
  const variables = own === undefined ? env : { ...env, ...channelVariables(own) };
  if ([...argv, cwd, ...Object.entries(variables).flat()].some((text) => text.includes("\0")))
    throw new Error("no argument, folder or variable can hold a NUL byte");
  const child = new ChildProcess();
  const options = {
    file,
    args: argv,
    cwd,
    envPairs: environment.with(variables),
    ...as,
    detached: true,
    stdio: Array.from(stdio, (fd) => fd ?? "ignore"),
  };
  (child as unknown as Forking).spawn(options);
  return [child, own === undefined || child.pid === undefined ? undefined : new WorkerChannel(child, own)];
}

/** What an earlier run may still write to is another file. */
export function openAnew(file: string): number {
  rmSync(file, { force: true });
  return openSync(file, "ax", 0o600);
}
