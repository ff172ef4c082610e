// procman with the load: control by its library, exits from its log.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { exitsIn, findInstalled, isAlive, kill, within } from "../processes.mjs";

/** Of this checkout. */
const BUILT = fileURLToPath(new URL("../../../dist/procman.cjs", import.meta.url));

export class Manager {
  name = "procman";
  parts = ["service", "logger", "keeper", "everything"];
  #bin = process.env.PROCMAN_BIN ?? (existsSync(BUILT) ? BUILT : findInstalled("procman", "npm install -g procman"));
  #folder;
  #load;
  #procman;
  /** Of its parts, before the last kill. */
  #pids = {};

  constructor(folder, load) {
    this.#folder = folder;
    this.#load = load;
  }

  /** If it runs, this connects to it. */
  async start() {
    const { Procman } = await import(pathToFileURL(join(dirname(this.#bin), "index.js")));
    const policy = { autostart: true, restart: "always", restartDelayMs: 100 };
    const processes = this.#load.map(({ id, argv, log }) => {
      return { id, cmd: argv.join(" "), ...policy, logger: { stdout: log, rotate: false } };
    });
    this.#procman = await Procman.run({ name: "load", processes }, { cwd: this.#folder });
  }

  async kill(part) {
    const { keeper, service, logger } = await this.#partPids();
    this.#pids = part === "everything" ? { keeper, service, logger } : { [part]: { keeper, service, logger }[part] };
    const pids = Object.values(this.#pids).filter((pid) => kill(pid));
    await within(1_000, () => !pids.some(isAlive));
    return pids;
  }

  /** A killed part is replaced. If all are killed, procman is started again, as the machine's init would do. */
  async comeBack(part) {
    if (part === "everything") await this.start();
    const size = this.#logSize();
    await within(20_000, async () => {
      const pids = await this.#partPids();
      const isReplaced = Object.entries(this.#pids).every(([name, pid]) => pids[name] > 0 && pids[name] !== pid);
      return isReplaced && (part !== "logger" || this.#logSize() > size);
    });
    return part !== "everything";
  }

  async running() {
    const records = await this.#procman.processes().catch(() => []);
    return records.filter(({ status }) => status === "running").map(({ id }) => id);
  }

  async end() {
    await this.#procman.terminate();
  }

  exits() {
    const args = ["logs", "--json", "--since", "1d", "--category", "lifecycle", "--search", "exited with code"];
    const options = { cwd: join(this.#folder, ".procman/load"), encoding: "utf8", maxBuffer: Infinity };
    const log = execFileSync(process.execPath, [this.#bin, ...args], {
      ...options,
      stdio: ["ignore", "pipe", "ignore"],
    });
    return exitsIn(log, /"process":"([^"]+)".*exited with code (\d+)/g);
  }

  async #partPids() {
    const { parts = [] } = await this.#procman.state().catch(() => ({}));
    return Object.fromEntries(parts.map(({ part, pid }) => [part, pid]));
  }

  #logSize() {
    return this.#load.reduce((sum, { log }) => sum + (statSync(log, { throwIfNoEntry: false })?.size ?? 0), 0);
  }
}
