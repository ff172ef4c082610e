// procman with the load of this example.
import { existsSync, statSync } from "node:fs";
import { isAlive, within } from "../processes.mjs";
import { Procman } from "./procman.mjs";

/** Time for a killed keeper to be replaced by its service or logger; after that procman is started again. */
const BY_ITSELF_MS = 2_000;

export class ProcmanUnderLoad {
  name = "procman";
  parts = ["service", "logger", "keeper", "everything"];
  #procman;
  #load;
  /** Pids before the last kill. */
  #before = { keeper: [], service: [], logger: [] };
  #killed = "service";

  constructor({ folder, load }) {
    this.#load = load;
    this.#procman = new Procman({
      folder,
      processes: load.map(({ id, argv, log }) => ({
        id,
        cmd: argv.join(" "),
        autostart: true,
        restart: "always",
        restartDelayMs: 100,
        logger: { stdout: log },
      })),
    });
  }

  async start() {
    this.#procman.start();
  }

  kill(part) {
    this.#before = this.#procman.parts();
    this.#killed = part;
    return this.#procman.kill(part);
  }

  async comeBack() {
    // No process is left that could start a keeper: procman is started at once, as the machine's init would do.
    if (this.#killed === "everything") this.#procman.start();
    else await this.#procman.revive(BY_ITSELF_MS);
    const isBack =
      this.#killed === "logger"
        ? () => this.#hasLogger()
        : async () => (await this.#procman.answered(1_000)) !== undefined && this.#hasService();
    await within(20_000, isBack, 2);
    return this.#killed !== "everything";
  }

  async running() {
    return ((await this.#procman.answered()) ?? []).flatMap(({ id, status }) => (status === "running" ? [id] : []));
  }

  exits() {
    return [...this.#procman.journal.ends.values()].flatMap(({ slot, code, unknown }) =>
      unknown ? [] : [{ id: slot, code }],
    );
  }

  end() {
    return this.#procman.end();
  }

  destroy() {
    this.#procman.destroy();
  }

  #hasService() {
    const { pid } = this.#procman.api.endpoint ?? {};
    return pid !== undefined && isAlive(pid) && !this.#before.service.includes(pid);
  }

  /** Whether a new logger runs and writes. */
  async #hasLogger() {
    if (!this.#procman.parts().logger.some((pid) => !this.#before.logger.includes(pid))) return false;
    const size = () => this.#load.reduce((sum, { log }) => sum + (existsSync(log) ? statSync(log).size : 0), 0);
    const from = size();
    return (await within(1_000, () => size() > from, 2)) === true;
  }
}
