// procman under this load: starts it, finds its processes, and waits until a killed part is back.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isAlive, kill, MARK, marked, stat, within } from "../processes.mjs";
import { Api } from "./procman-api.mjs";
import { JournalTail } from "./procman-journal.mjs";

/** Time for a killed keeper to be replaced by its service or logger; after that procman is started again. */
const BY_ITSELF_MS = 3_000;
const NAME = "load";

/** The program of this checkout, or else the installed one. */
export function findProcman() {
  const built = fileURLToPath(new URL("../../../dist/procman.cjs", import.meta.url));
  if (process.env.PROCMAN_BIN !== undefined) return process.env.PROCMAN_BIN;
  if (existsSync(built)) return built;
  return execFileSync("sh", ["-c", "command -v procman"], { encoding: "utf8" }).trim();
}

/** By its title, or before it has one by its file. */
export function isPart(name, command) {
  return new RegExp(`^procman(?:\\[.*\\])?: ${name}`).test(command) || command.includes(`/${name}.cjs`);
}

export class Procman {
  /** Value of a variable in the environment of all processes of this load. */
  mark;
  stateDir;
  api;
  journal;
  #folder;
  #bin;
  #env;
  #output;
  #args;
  #launcher;

  /**
   * @param {{ folder: string, processes: readonly object[], bin?: string, env?: NodeJS.ProcessEnv, config?: object,
   *   args?: readonly string[], output?: number, launcher?: readonly string[] }} options `args`: of `procman run`;
   *   `output`: descriptor for what it prints; `launcher`: a command line before each command, as of `setpriv`
   */
  constructor({ folder, processes, bin = findProcman(), env = {}, config = {}, args = [], output, launcher = [] }) {
    mkdirSync(folder, { recursive: true });
    this.#folder = folder;
    this.#bin = bin;
    this.#env = env;
    this.#args = args;
    this.#launcher = launcher;
    this.mark = folder;
    this.stateDir = join(env.PROCMAN_STATE_DIR ?? join(folder, ".procman"), NAME);
    this.#output = output ?? openSync(join(folder, "said.log"), "a");
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: NAME, ...config, processes }, undefined, 2));
    this.api = new Api(this.stateDir, NAME);
    this.journal = new JournalTail(join(this.stateDir, "run", "journal"));
  }

  /** Starts it in the background, as `procman run --detach` or the machine's init would. */
  start() {
    const child = this.#command(["run", ...this.#args], this.mark);
    child.unref();
    return child;
  }

  /** Resolves with the exit code of `procman upgrade`: 0 if every part was replaced. */
  async upgrade() {
    const [code] = await once(this.#command(["upgrade"]), "exit");
    return code;
  }

  #command(args, mark) {
    const {
      NODE_OPTIONS: _options,
      NODE_EXTRA_CA_CERTS: _certificates,
      NODE_TEST_CONTEXT: _context,
      ...inherited
    } = process.env;
    const [program, ...rest] = [...this.#launcher, process.execPath, this.#bin, ...args];
    return spawn(program, rest, {
      cwd: this.#folder,
      env: { ...inherited, ...this.#env, ...(mark === undefined ? {} : { [MARK]: mark }) },
      stdio: ["ignore", this.#output, this.#output],
      detached: true,
    });
  }

  /** Pid of the keeper that holds the lock; undefined if there is none. */
  get keeper() {
    const locks = existsSync(this.stateDir)
      ? readdirSync(this.stateDir).filter((name) => /^lock\.\d+$/.test(name))
      : [];
    const newest = locks.sort((a, b) => Number(a.slice(5)) - Number(b.slice(5))).at(-1);
    if (newest === undefined) return undefined;
    try {
      const { pid, startTime } = JSON.parse(readFileSync(join(this.stateDir, newest), "utf8"));
      return isAlive(pid) && stat(pid)?.startTime === startTime ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  /** Pids of procman's own processes; after the death of a keeper there may be two loggers for a while. */
  parts() {
    const all = marked(this.mark);
    const of = (name) => all.filter(({ command }) => isPart(name, command)).map(({ pid }) => pid);
    return { keeper: of("keeper"), service: of("service"), logger: of("logger") };
  }

  /** @param {"service" | "logger" | "keeper" | "everything"} what @returns {readonly number[]} the pids that it killed */
  kill(what) {
    const parts = this.parts();
    const pids = what === "everything" ? [...parts.keeper, ...parts.service, ...parts.logger] : parts[what];
    return pids.filter((pid) => kill(pid));
  }

  /** Waits for the replacement of the keeper, or else starts procman. @returns whether the replacement came */
  async revive(timeoutMs = BY_ITSELF_MS) {
    if ((await within(timeoutMs, () => this.keeper)) !== undefined) return true;
    this.start();
    return false;
  }

  /** Resolves with the records of all processes once a service of the present keeper answers, or with undefined. */
  answered(timeoutMs = 30_000) {
    return within(timeoutMs, async () => {
      const { keeper } = this;
      if (keeper === undefined || this.api.endpoint?.keeper !== keeper) return undefined;
      const answer = await this.api.ask("GET", "/processes");
      return answer?.status === 200 ? answer.body : undefined;
    });
  }

  /** Stops everything; resolves with the processes left behind. */
  async end(timeoutMs = 60_000) {
    // A keeper that was just killed is replaced by another one, which must be asked, too.
    for (let keeper = await this.#keeperAfter(); keeper !== undefined; keeper = await this.#keeperAfter(keeper)) {
      const answer = await this.api.ask("POST", "/terminate");
      if (answer?.status !== 202) kill(keeper, "SIGTERM");
      if ((await within(timeoutMs, () => !isAlive(keeper))) === undefined) break;
    }
    this.journal.stop();
    return marked(this.mark);
  }

  /** The keeper that replaced `before`; undefined if there is none. */
  async #keeperAfter(before) {
    let next;
    await within(10_000, () => {
      next = this.keeper;
      return (next !== undefined && next !== before) || marked(this.mark).length === 0;
    });
    return next === before ? undefined : next;
  }

  /** Kills all processes of this load. */
  destroy() {
    this.journal.stop();
    for (let round = 0; round < 20 && marked(this.mark).length > 0; round += 1)
      for (const { pid } of marked(this.mark)) kill(pid);
  }
}
