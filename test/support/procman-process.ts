/** Runs procman in a temporary folder, and waits for its output. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holderOf } from "../../src/core/os/lock.ts";
import { tcpEnvironment } from "./both-tcp.ts";
import { childrenOf, nameOf } from "./proc-files.ts";
import { BIN } from "./product.ts";

/** Time limit of a wait for an event. Milliseconds. */
export const TIMEOUT_MS = 30_000;

export type ProcessConfig = { readonly id: string; readonly [field: string]: unknown };

/** The environment of tests, without variables of the user that change how procman starts. */
export function cleanEnvironment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const {
    NODE_OPTIONS: _options,
    PROCMAN_CONFIG: _config,
    SUDO_USER: _user,
    NODE_EXTRA_CA_CERTS: _certificates,
    NODE_TEST_CONTEXT: _context,
    npm_command: _npm,
    ...env
  } = process.env;
  return { ...env, ...extra };
}

/** By folder; all are ended before it is removed. */
const started = new Map<string, Procman[]>();

export class Procman {
  readonly folder: string;
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  readonly #isGuarded: boolean;
  /** `stopHolder` was called: there will be no successor. */
  #isStopped = false;
  #rest = "";
  #exit: { readonly code: number | null; readonly signal: string | null } | undefined;
  readonly #waiting = new Set<() => void>();

  /** Starts `procman run` in this folder; `launcher`: a command line before it. */
  constructor(
    folder: string,
    options: {
      readonly env?: NodeJS.ProcessEnv;
      readonly launcher?: readonly string[];
      readonly args?: readonly string[];
    } = {},
  ) {
    this.folder = folder;
    this.#isGuarded = options.args?.includes("--guarded") ?? false;
    started.set(folder, [...(started.get(folder) ?? []), this]);
    // One pipe for both, as on a terminal: of two, the order is unknown.
    const command = [
      "-c",
      'exec "$@" 2>&1',
      "sh",
      ...(options.launcher ?? []),
      process.execPath,
      BIN,
      "run",
      ...(options.args ?? []),
    ];
    this.child = spawn("/bin/sh", command, {
      cwd: folder,
      env: cleanEnvironment(options.env),
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#onText(text));
    this.child.once("exit", (code, signal) => {
      this.#exit = { code, signal };
      this.#wake();
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  /** Its state folder. */
  get stateDir(): string {
    const name = readdirSync(join(this.folder, ".procman")).find((each) => each !== ".gitignore") ?? "procman";
    return join(this.folder, ".procman", name);
  }

  /** Pid of the keeper that holds the state folder now: after a kill it differs from `pid`. */
  get keeper(): number | undefined {
    return existsSync(join(this.folder, ".procman")) ? holderOf(this.stateDir)?.pid : undefined;
  }

  /** Resolves with the pid of the keeper that replaced `of`, once its service answers. */
  async successor(of: number = this.pid): Promise<number> {
    return eventually(() => {
      const { keeper } = this;
      if (keeper === undefined || keeper === of) return undefined;
      const file = join(this.stateDir, "endpoint.json");
      return existsSync(file) && readFileSync(file, "utf8").includes(`"keeper":${keeper},`) ? keeper : undefined;
    });
  }

  /** Stops the keeper that holds the state folder now. */
  async stopHolder(): Promise<void> {
    // One that has only begun to start holds nothing yet.
    const keeper = this.keeper ?? (isAlive(this.pid) ? this.pid : 0);
    this.#isStopped = true;
    if (keeper <= 1) return;
    process.kill(keeper, "SIGTERM");
    const second = setTimeout(() => isAlive(keeper) && process.kill(keeper, "SIGTERM"), 3_000);
    await processExit(keeper);
    clearTimeout(second);
  }

  /** The first matching line, from number `from` on. */
  async line(pattern: RegExp, from = 0): Promise<string> {
    return this.until(() => this.lines.slice(from).find((line) => pattern.test(line)), `a line like ${pattern}`);
  }

  /** Waits until `count` lines match. */
  async count(pattern: RegExp, count: number): Promise<readonly string[]> {
    return this.until(() => {
      const matching = this.lines.filter((line) => pattern.test(line));
      return matching.length >= count ? matching : undefined;
    }, `${count} lines like ${pattern}`);
  }

  async exit(): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    return this.until(() => this.#exit, "the exit");
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.child.kill(signal);
    return (await this.exit()).code;
  }

  /** Resolves once nothing of it runs. */
  async close(): Promise<void> {
    const { signalCode, exitCode } = this.child;
    // After a kill a successor may be starting.
    if (signalCode === "SIGKILL" && !this.#isStopped && !this.#isGuarded) await eventually(() => this.keeper);
    if (signalCode === null && exitCode === null) {
      this.child.kill("SIGTERM");
      const second = setTimeout(() => this.child.kill("SIGTERM"), 3_000);
      await once(this.child, "exit");
      clearTimeout(second);
    }
    await this.stopHolder();
  }

  /** Pid of procman's own process of this name: `service`, `logger`, `balancer`. */
  helper(name: "service" | "logger" | "balancer"): number {
    const pid = this.helperIfUp(name);
    if (pid === undefined) throw new Error(`no ${name} below ${this.pid}`);
    return pid;
  }

  /** undefined: it is starting. */
  helperIfUp(name: "service" | "logger" | "balancer"): number | undefined {
    return childrenOf(this.pid).find((pid) => nameOf(pid) === `procman: ${name}`.slice(0, 15));
  }

  #onText(text: string): void {
    const parts = (this.#rest + text).split("\n");
    this.#rest = parts.pop() ?? "";
    this.lines.push(...parts);
    this.#wake();
  }

  #wake(): void {
    for (const call of this.#waiting) call();
  }

  /** Calls `look` at each line. The error after the time limit has procman's last lines. */
  until<T>(look: () => T | undefined, what: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const result = look();
        if (result === undefined) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(result);
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        reject(new Error(`timed out waiting for ${what}; procman printed:\n${this.lines.slice(-60).join("\n")}`));
      }, TIMEOUT_MS);
      this.#waiting.add(check);
      check();
    });
  }
}

/** A folder with this configuration. After the test procman is ended and the folder removed. */
export function folderWith(
  context: { readonly after: (call: () => void | Promise<void>) => void },
  config: { readonly processes: readonly ProcessConfig[]; readonly [field: string]: unknown },
): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-"));
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config));
  context.after(async () => {
    for (const procman of started.get(folder) ?? []) await procman.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Runs procman with these processes until the test ends. */
export async function startProcman(
  context: { readonly after: (call: () => void | Promise<void>) => void },
  processes: readonly ProcessConfig[],
  options: {
    readonly config?: object;
    readonly env?: NodeJS.ProcessEnv;
    readonly launcher?: readonly string[];
    readonly args?: readonly string[];
  } = {},
): Promise<Procman> {
  const folder = folderWith(context, { processes, ...options.config });
  return new Procman(folder, { ...options, env: { ...tcpEnvironment(context), ...options.env } });
}

/** A process whose first thread is a zombie is alive while it has others: they hold its sockets, and procman counts it as alive. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1")) || readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    // Gone before, or while it was read.
    return false;
  }
}

/** Resolves when the process is gone. Polls, since only the parent gets an event. */
export async function processExit(pid: number): Promise<void> {
  for (
    const end = performance.now() + TIMEOUT_MS;
    isAlive(pid);
    await new Promise((resolve) => setTimeout(resolve, 10))
  )
    if (performance.now() > end) throw new Error(`process ${pid} does not end`);
}

type Bound = {
  /** What is waited for. */
  readonly what?: string;
  readonly ms?: number;
};

/** Polls `look` until it has a result; for changes without an event, as of files. */
export async function eventually<T>(
  look: () => T | undefined | Promise<T | undefined>,
  { what = `${look}`, ms = TIMEOUT_MS }: Bound = {},
): Promise<T> {
  const found = await within(ms, async () => {
    const result = await look();
    return result === undefined ? undefined : { result };
  });
  if (found === undefined) throw new Error(`timed out after ${ms} ms waiting for ${what}`);
  return found.result;
}

/** Polls for what may fail to come: the first result of `check` that is neither undefined nor false; undefined after `ms`. */
export async function within<T>(
  ms: number,
  check: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T | undefined> {
  for (const end = performance.now() + ms; ; await new Promise((resolve) => setTimeout(resolve, 10))) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > end) return undefined;
  }
}

/** What the promise resolves with. @throws Error that names `what` if it doesn't settle in time: a test that awaits it alone would hang. */
export async function inTime<T>(
  promise: Promise<T>,
  { what, ms = TIMEOUT_MS }: Bound & { readonly what: string },
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out after ${ms} ms waiting for ${what}`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
