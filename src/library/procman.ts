/** procman in a program: starts one, or finds the one that runs, and speaks with it. */
import type { Client } from "../client/client.ts";
import { type Location, locate } from "../config/find-config.ts";
import { load } from "../config/load.ts";
import { connectTo } from "../connection/connect.ts";
import { LogReader } from "../connection/log-reader.ts";
import { waitForEnd } from "../connection/terminate.ts";
import type { Action, PlanOptions, Scaling } from "../contract/control.ts";
import type { PlanRecord } from "../contract/plan.ts";
import type { LogItem, LogPage, LogQuery, ProcessRecord } from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { holderOf } from "../os/lock.ts";
import type { Configuration } from "./configuration.ts";
import { LibraryEvents, type LibraryListener, type ProcmanEvents, warn } from "./events.ts";
import { fileFor, type LineOptions, passLines, start } from "./start.ts";

/** As who it is known in audit lines and incidents. */
const CONSUMER = "library";
/** A stop may take its 30 s until SIGKILL. Seconds. */
const WAIT_SECONDS = 60;

export type RunOptions = LineOptions & {
  /** Folder that relative paths of a configuration object resolve from, and that holds its `.procman`. Default: the current folder. */
  readonly cwd?: string;
  /**
   * `true` (the default): procman and its processes live on when this program ends without `terminate`, and the next `run` finds them.
   * `false`: they end with this program, however it ends.
   */
  readonly detached?: boolean;
  /** Name of the part below `profiles` that is merged over the rest, as by `procman run --profile`. */
  readonly profile?: string;
};

export type WaitOptions = {
  /** Rejects with `wait-timeout` after so many seconds; what was asked for goes on all the same. 0: resolve at once. Default: 60. */
  readonly waitSeconds?: number;
};

/**
 * A running procman. All methods reject with a `ProcmanError`: `no-daemon` when it has ended, `service-down` when it can't be
 * reached; those with an id also with `process-unknown`.
 *
 * @example
 * const procman = await Procman.run({ processes: [{ id: "web", cmd: "node server.js", autostart: true }] });
 * procman.on("process.state", ({ process }) => console.log(process.id, process.status));
 * await procman.restart("web");
 * await procman.terminate();
 */
export class Procman {
  /** Name of the configuration. */
  readonly name: string;
  /** Folder of all that it keeps. */
  readonly stateDir: string;
  readonly #stop = new AbortController();
  readonly #events: LibraryEvents;
  readonly #lines: Promise<void>;

  private constructor(location: Location, options: LineOptions & { readonly from: number }) {
    this.name = location.name;
    this.stateDir = location.stateDir;
    this.#events = new LibraryEvents(
      () => this.#control(),
      () => this.#reader(),
      this.#stop.signal,
    );
    this.#lines = passLines(this.#reader(), { ...options, signal: this.#stop.signal }).catch(warn);
  }

  /**
   * Starts a procman with this configuration (the path of a file, or an object), or connects to the one that runs already with its
   * state folder; that one keeps the configuration that it has. Resolves when it answers.
   *
   * An object is written to `.procman/NAME/procman.json` in `cwd` (below `PROCMAN_STATE_DIR` where that is set), with its paths
   * made absolute; commands find it with `--config`.
   *
   * @throws {ConfigurationError} with all `.problems`; nothing is started then.
   * @throws {ProcmanError} `configuration-missing`, `state-folder`, `start-failed`, `service-down`
   *
   * @example
   * const procman = await Procman.run("procman.jsonc", { detached: false, console: true });
   */
  static async run(config: Configuration | string, options: RunOptions = {}): Promise<Procman> {
    const { cwd = process.cwd(), detached = true, profile, ...lines } = options;
    const file = typeof config === "string" ? config : fileFor(config, cwd);
    const loaded = load(file, cwd, profile);
    const from = Date.now();
    if (holderOf(loaded.stateDir) === undefined) await start(loaded, detached);
    await connectTo(loaded, CONSUMER);
    return new Procman(loaded, { ...lines, from });
  }

  /**
   * Connects to the procman that runs with a configuration file. Default: `procman.jsonc`, then `procman.json`, in the current folder.
   *
   * @throws {ProcmanError} `configuration-missing`, `no-daemon`, `service-down`
   *
   * @example
   * const procman = await Procman.connect();
   * console.table(await procman.processes());
   * procman.close();
   */
  static async connect(path?: string, options: LineOptions = {}): Promise<Procman> {
    const location = locate(path, process.cwd());
    await connectTo(location, CONSUMER);
    return new Procman(location, { ...options, from: Date.now() });
  }

  /** All processes; the instances of a cluster are in its record. */
  async processes(): Promise<readonly ProcessRecord[]> {
    return (await this.#control()).processes();
  }

  /** One process, instance or cluster. */
  async process(id: string): Promise<ProcessRecord> {
    return (await this.#control()).process(id);
  }

  /** Of the whole: version, pid, uptime, how many processes in which state. */
  async state(): Promise<StateRecord> {
    return (await this.#control()).state();
  }

  /** Starts a process, an instance, a cluster or `all`. Rejects with `process-running`, `process-blocked`. */
  start(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "start", options);
  }

  /** Stops it; when it resolves, nothing of it is left. */
  stop(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "stop", options);
  }

  /** Restarts it; one that doesn't run is started. */
  restart(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "restart", options);
  }

  /** Nothing starts it any more, neither policy nor schedule nor `start`; what runs, runs on. */
  block(id: string): Promise<ProcessRecord> {
    return this.#act(id, "block");
  }

  /** Lifts a block. */
  unblock(id: string): Promise<ProcessRecord> {
    return this.#act(id, "unblock");
  }

  /**
   * Gives a cluster another number of instances; resolves when the new ones run and the others are gone. It counts until the
   * configuration is reloaded, or procman is run anew.
   *
   * @throws {ProcmanError} `scale-refused`, `process-blocked`, `reload-running`, `roll-running`, `process-failed`, `wait-timeout`
   *
   * @example
   * await procman.scale("web", 4);
   * await procman.scale("web", { by: -1 });
   * await procman.scale("web", "max"); // one for each processor
   */
  async scale(id: string, to: number | "max" | Scaling, { waitSeconds = WAIT_SECONDS }: WaitOptions = {}): Promise<ProcessRecord> {
    const scaling = typeof to === "object" ? to : { instances: to };
    return (await this.#control()).scale(id, scaling, waitSeconds === 0 ? {} : { waitSeconds });
  }

  /** What `reload` would do, or, with another profile, a run by that. Rejects with `configuration-invalid`, and all its problems, when the file is not valid. */
  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#control()).plan(options);
  }

  /** Takes up the configuration file: all of it, or nothing (`configuration-invalid`, `reload-failed`). Only what it concerns is restarted. */
  async reload({ waitSeconds = WAIT_SECONDS }: WaitOptions = {}): Promise<PlanRecord> {
    return (await this.#control()).reload(waitSeconds === 0 ? {} : { waitSeconds });
  }

  /** One page of the stored log. */
  async logs(query: LogQuery = {}): Promise<LogPage> {
    return (await this.#control()).logs(query);
  }

  /**
   * The stored log from `query.cursor` or `query.from` on (default: the last `query.limit` entries), then what comes, without a hole;
   * over restarts of the service. Ends when procman has ended, or the signal came.
   *
   * @example
   * for await (const item of procman.follow({ processes: ["web"] })) if (item.type === "entry") console.log(item.entry.text);
   */
  follow(query: LogQuery = {}, signal?: AbortSignal): AsyncIterable<LogItem> {
    return this.#reader().follow(query, signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]));
  }

  /** What happens from now on. The first listener opens a connection, which keeps the program alive until `close`. */
  on<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): this {
    this.#events.add(name, listener);
    return this;
  }

  off<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): this {
    this.#events.remove(name, listener);
    return this;
  }

  /** Stops all processes in order and ends procman; resolves when it has ended, and listeners and `onLine` have got its last words. */
  async terminate(): Promise<void> {
    await waitForEnd(this.stateDir, async () => (await this.#control()).terminate());
    await Promise.all([this.#events.ended(), this.#lines]);
    this.close();
  }

  /** Ends the connection alone: listeners and `onLine` get nothing more, procman goes on. */
  close(): void {
    this.#stop.abort();
  }

  async #act(id: string, action: Action, { waitSeconds = WAIT_SECONDS }: WaitOptions = {}): Promise<ProcessRecord> {
    return (await this.#control()).act(id, action, waitSeconds === 0 ? {} : { waitSeconds });
  }

  #control(): Promise<Client> {
    return connectTo(this, CONSUMER);
  }

  #reader(): LogReader {
    return new LogReader(this, CONSUMER, true);
  }
}
