/** A procman whose parts a test kills, finds again and counts. Linux only. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { linkIfSeen } from "../../src/core/os/files.ts";
import * as os from "../../src/core/os/process-stat.ts";
import { JournalTail } from "./journal-tail.ts";
import { kill, MARK, type MarkedProcess, marked } from "./marked-processes.ts";
import { cleanEnvironment, isAlive, within } from "./procman-process.ts";
import { BIN } from "./product.ts";
import { StateFolderApi } from "./state-folder-api.ts";

/** A killed keeper is replaced by its service or logger within this time; after that procman is started again. Milliseconds. */
const BY_ITSELF_MS = 3_000;
/** On a busy machine a terminal ends within this time after its last program. Milliseconds. */
const TERMINAL_END_MS = 5_000;
const NAME = "load";

export type KillablePart = "keeper" | "service" | "logger";

export type KillableOptions = {
  readonly folder: string;
  readonly processes: readonly object[];
  readonly bin?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Further members of the configuration. */
  readonly config?: object;
  /** Arguments of `procman run`. */
  readonly args?: readonly string[];
  /** Descriptor for what procman prints; absent: `said.log` in the folder. */
  readonly output?: number;
  /** A command line before each command, as of `setpriv`. */
  readonly launcher?: readonly string[];
};

/** By its title, or before it has one by its file. */
export function isPart(name: string, command: string): boolean {
  return new RegExp(`^procman(?:\\[.*\\])?: ${name}`).test(command) || command.includes(`/${name}.cjs`);
}

export class KillableProcman {
  /** Value of `MARK` in the environment of all its processes. */
  readonly mark: string;
  readonly stateDir: string;
  readonly api: StateFolderApi;
  readonly journal: JournalTail;
  readonly #options: KillableOptions;
  readonly #output: number;

  /** Writes the configuration into the folder. */
  constructor(options: KillableOptions) {
    const { folder, processes, env = {}, config = {} } = options;
    mkdirSync(folder, { recursive: true });
    this.#options = options;
    this.mark = folder;
    this.stateDir = join(env.PROCMAN_STATE_DIR ?? join(folder, ".procman"), NAME);
    this.#output = options.output ?? openSync(join(folder, "said.log"), "a");
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: NAME, ...config, processes }, undefined, 2));
    this.api = new StateFolderApi(this.stateDir, NAME);
    this.journal = new JournalTail(join(this.stateDir, "run", "journal"));
  }

  /** Starts it in the background, as `procman run --detach` or the machine's init would. */
  start(): ChildProcess {
    const child = this.#command(["run", ...(this.#options.args ?? [])], { [MARK]: this.mark });
    child.unref();
    return child;
  }

  /** Resolves with the exit code of `procman upgrade`: 0 if every part was replaced. */
  async upgrade(): Promise<number | null> {
    const [code] = (await once(this.#command(["upgrade"]), "exit")) as [number | null];
    return code;
  }

  #command(args: readonly string[], extra: NodeJS.ProcessEnv = {}): ChildProcess {
    const { folder, env, launcher = [], bin = BIN } = this.#options;
    const [program = "", ...rest] = [...launcher, process.execPath, bin, ...args];
    return spawn(program, rest, {
      cwd: folder,
      env: cleanEnvironment({ ...env, ...extra }),
      stdio: ["ignore", this.#output, this.#output],
      detached: true,
    });
  }

  /** Pid of the keeper that holds the lock; undefined if there is none. */
  get keeper(): number | undefined {
    try {
      const numbers = readdirSync(this.stateDir).flatMap((name) =>
        /^lock\.\d+$/.test(name) ? [Number(name.slice(5))] : [],
      );
      if (numbers.length === 0) return undefined;
      const { pid, startTime } = JSON.parse(readFileSync(join(this.stateDir, `lock.${Math.max(...numbers)}`), "utf8"));
      return os.isAlive(pid, startTime) ? pid : undefined;
    } catch {
      // The folder does not exist yet, or the lock has just been removed.
      return undefined;
    }
  }

  /** Pids of procman's own processes; after the death of a keeper there may be two loggers for a while. */
  parts(): Readonly<Record<KillablePart, readonly number[]>> {
    const all = marked(this.mark);
    const pidsOf = (name: string): readonly number[] =>
      all.filter(({ command }) => isPart(name, command)).map(({ pid }) => pid);
    return { keeper: pidsOf("keeper"), service: pidsOf("service"), logger: pidsOf("logger") };
  }

  /** Returns the pids that it killed, which may still exist for a moment. */
  kill(what: KillablePart | "everything"): readonly number[] {
    const parts = this.parts();
    const pids = what === "everything" ? [...parts.keeper, ...parts.service, ...parts.logger] : parts[what];
    return pids.filter((pid) => kill(pid));
  }

  /** Waits for the replacement of the keeper, or else starts procman. Resolves with whether the replacement came. */
  async revive(timeoutMs: number = BY_ITSELF_MS): Promise<boolean> {
    if ((await within(timeoutMs, () => this.keeper)) !== undefined) return true;
    this.start();
    return false;
  }

  /** Resolves with the records of all processes once a service of the present keeper answers, or with undefined. */
  answered(timeoutMs = 30_000): Promise<readonly ProcessRecord[] | undefined> {
    return within(timeoutMs, async () => {
      const { keeper } = this;
      if (keeper === undefined || this.api.endpoint?.keeper !== keeper) return undefined;
      const answer = await this.api.ask("GET", "/processes");
      return answer?.status === 200 ? (answer.body as readonly ProcessRecord[]) : undefined;
    });
  }

  /** Stops everything; resolves with the processes left behind. */
  async end(timeoutMs = 60_000): Promise<readonly MarkedProcess[]> {
    // A keeper that was just killed is replaced by another one, which must be asked, too.
    for (let keeper = await this.#keeperAfter(); keeper !== undefined; keeper = await this.#keeperAfter(keeper)) {
      const asked = keeper;
      const answer = await this.api.ask("POST", "/terminate");
      if (answer?.status !== 202) kill(asked, "SIGTERM");
      if ((await within(timeoutMs, () => !isAlive(asked))) === undefined) break;
    }
    this.journal.stop();
    // What holds a terminal has no mark, and ends when it has written the last output.
    await within(TERMINAL_END_MS, () => this.#terminals.length === 0);
    return [...marked(this.mark), ...this.#terminals];
  }

  get #terminals(): readonly MarkedProcess[] {
    return os
      .allProcesses()
      .filter(({ pid }) => linkIfSeen(`/proc/${pid}/fd/1`).startsWith(`${this.stateDir}/`))
      .map(({ pid }) => ({ pid, command: os.processName(pid) }));
  }

  /** The keeper that replaced `before`; undefined if there is none. */
  async #keeperAfter(before?: number): Promise<number | undefined> {
    let next: number | undefined;
    await within(10_000, () => {
      next = this.keeper;
      return (next !== undefined && next !== before) || marked(this.mark).length === 0;
    });
    return next === before ? undefined : next;
  }

  /** Kills all processes of this load. */
  destroy(): void {
    this.journal.stop();
    for (let round = 0; round < 20; round += 1) {
      const all = marked(this.mark);
      if (all.length === 0) return;
      // All stand still before the first is killed: otherwise the service of a killed keeper starts another one.
      for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const { pid } of all) kill(pid, signal);
    }
  }
}
