/** The library: starts a procman or connects to a running one, and controls it. */
import type { Configuration } from "../../../generated/configuration.ts";
import type { Client } from "../../client/client.ts";
import { connectTo } from "../../client/connection/connect.ts";
import { lastingHolder } from "../../client/connection/endpoint-file.ts";
import { LogReader } from "../../client/connection/log-reader.ts";
import { waitForEnd } from "../../client/connection/terminate.ts";
import { type Location, locate } from "../../core/config/find-config.ts";
import { load } from "../../core/config/load.ts";
import type { Action, PlanOptions, Scaling, Signalling } from "../../core/contract/control.ts";
import type { DefinitionRecord } from "../../core/contract/definition-record.ts";
import { deploymentEnd } from "../../core/contract/deployment-end.ts";
import type { DeploymentRecord, DeployOrder, ReleaseRecord } from "../../core/contract/deployment-record.ts";
import type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "../../core/contract/history-record.ts";
import type { PlanRecord } from "../../core/contract/plan.ts";
import type {
  FlushRecord,
  InputRecord,
  LogItem,
  LogPage,
  LogQuery,
  ProcessRecord,
} from "../../core/contract/records.ts";
import type { RunPage, RunQuery } from "../../core/contract/run-summary.ts";
import type { StateRecord } from "../../core/contract/state-record.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { checkStateFolder } from "../../core/os/state-folder.ts";
import { LibraryEvents, type LibraryListener, type ProcmanEvents, warn } from "./events.ts";
import { fileFor, type LineOptions, passLines, start } from "./start.ts";

/** Name of the caller in audit lines and incidents. */
const CONSUMER = "library";
/** Longer than a stop by default, which may take 30 s until SIGKILL. */
const WAIT_SECONDS = 60;
/** Most that a deployment is waited for. Seconds. */
const DEPLOY_SECONDS = 3_600;

export type RunOptions = LineOptions & {
  /** Folder that relative paths of a configuration object resolve from, and that contains `.procman`. Default: the current folder. */
  readonly cwd?: string;
  /**
   * `true` (the default): procman and its processes keep running when this program ends without `terminate`; the next
   * `run` finds them.
   * `false`: they end with this program, however it ends.
   */
  readonly detached?: boolean;
  /** Name of the entry of `profiles` that is merged over the rest, as with `procman run --profile`. */
  readonly profile?: string;
};

export type WaitOptions = {
  /** Rejects with `wait-timeout` after this many seconds; the action itself continues. 0: resolves at once. Default: 60. */
  readonly waitSeconds?: number;
};

/**
 * A running procman. All methods reject with a `ProcmanError`: `no-daemon` when it has ended, `service-down` when it
 * can't be reached; those with an id also with `process-unknown`.
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
  /** State folder. */
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
   * Starts procman with this configuration (the path of a file, or an object). If one already runs with the same state
   * folder, connects to it; it keeps its present configuration. Resolves when procman answers.
   *
   * An object is written to `.procman/NAME/procman.json` in `cwd` (below `PROCMAN_STATE_DIR` if that is set), with its
   * paths made absolute; commands find it with `--config`.
   *
   * @throws {ConfigurationError} with all `.problems`; then nothing is started.
   * @throws {ProcmanError} `configuration-missing`, `state-folder`, `start-failed`, `service-down`
   *
   * @example
   * const procman = await Procman.run("procman.jsonc", { detached: false, console: true });
   */
  static async run(config: Configuration | string, options: RunOptions = {}): Promise<Procman> {
    const { cwd = startFolder(), detached = true, profile, ...lines } = options;
    const file = typeof config === "string" ? config : fileFor(config, cwd);
    const loaded = load(file, cwd, profile);
    checkStateFolder(loaded.stateDir);
    const from = Date.now();
    if ((await lastingHolder(loaded.stateDir)) === undefined) await start(loaded, detached);
    await connectTo(loaded, CONSUMER);
    return new Procman(loaded, { ...lines, from });
  }

  /**
   * Connects to a running procman by its configuration file. Default: `procman.jsonc`, then `procman.json`, in the
   * current folder.
   *
   * @throws {ProcmanError} `configuration-missing`, `no-daemon`, `service-down`
   *
   * @example
   * const procman = await Procman.connect();
   * console.table(await procman.processes());
   * procman.close();
   */
  static async connect(path?: string, options: LineOptions = {}): Promise<Procman> {
    const location = locate(path, startFolder(path));
    await connectTo(location, CONSUMER);
    return new Procman(location, { ...options, from: Date.now() });
  }

  /** All processes; the record of a cluster contains its instances. */
  async processes(): Promise<readonly ProcessRecord[]> {
    return (await this.#control()).processes();
  }

  /** One process, instance or cluster. */
  async process(id: string): Promise<ProcessRecord> {
    return (await this.#control()).process(id);
  }

  /** How a process is run, without secrets: of a cluster, a group or `all` each. */
  async definitions(id: string): Promise<readonly DefinitionRecord[]> {
    return (await this.#control()).definitions(id);
  }

  /** procman itself: version, pid, uptime, number of processes by state. */
  async state(): Promise<StateRecord> {
    return (await this.#control()).state();
  }

  /** Starts a process, an instance, a cluster or `all`. Rejects with `process-running`, `process-blocked`. */
  start(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "start", options);
  }

  /** Stops it. Resolves when it and all processes that it started have ended. */
  stop(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "stop", options);
  }

  /** Restarts it, or starts it if it doesn't run. */
  restart(id: string, options?: WaitOptions): Promise<ProcessRecord> {
    return this.#act(id, "restart", options);
  }

  /** Prevents all further starts, by policy, schedule or `start`; a running process keeps running. */
  block(id: string): Promise<ProcessRecord> {
    return this.#act(id, "block");
  }

  /** Lifts a block. */
  unblock(id: string): Promise<ProcessRecord> {
    return this.#act(id, "unblock");
  }

  /**
   * From now on it starts only by request: not with procman, by schedule, or when watched files change. This outlives a
   * shutdown and a reboot. A running process keeps running.
   */
  disable(id: string): Promise<ProcessRecord> {
    return this.#act(id, "disable");
  }

  /** Lets a disabled process start by itself again. */
  enable(id: string): Promise<ProcessRecord> {
    return this.#act(id, "enable");
  }

  /**
   * Changes the number of instances of a cluster. Resolves when the new ones run and the others have ended. The number
   * applies until the configuration is reloaded, or procman is started again. A cluster with `scale` keeps it, whatever its
   * load is, until `auto`.
   *
   * @throws {ProcmanError} `scale-refused`, `process-blocked`, `reload-running`, `roll-running`, `process-failed`,
   * `wait-timeout`
   *
   * @example
   * await procman.scale("web", 4);
   * await procman.scale("web", { by: -1 });
   * await procman.scale("web", "max"); // one for each processor
   * await procman.scale("web", "auto"); // by its load again
   */
  async scale(
    id: string,
    to: number | "max" | "auto" | Scaling,
    { waitSeconds = WAIT_SECONDS }: WaitOptions = {},
  ): Promise<ProcessRecord> {
    const scaling = typeof to === "object" ? to : { instances: to };
    return (await this.#control()).scale(id, scaling, waitSeconds === 0 ? {} : { waitSeconds });
  }

  /**
   * Sends a signal to a process, an instance, all running instances of a cluster, or `all`: to the process group of
   * each, or as its
   * `killMode` says to its main process alone.
   *
   * `"reload"` stands for the `reloadSignal` of the process, which its main process gets.
   *
   * @throws {ProcmanError} `process-not-running`, `reload-unsupported`, `input-invalid` for a signal that doesn't exist
   *
   * @example
   * await procman.signal("nginx", "HUP");
   * await procman.signal("web", "SIGUSR2", { to: "leader" });
   */
  async signal(id: string, signal: Signalling["signal"], { to }: Pick<Signalling, "to"> = {}): Promise<ProcessRecord> {
    return (await this.#control()).signal(id, { signal, ...(to && { to }) });
  }

  /**
   * Types into a process or an instance, which has `"stdin": true`: writes a text, to which nothing is added, or bytes to
   * its standard input. On a terminal (`"tty": true`) the line ends of a text are the key Enter. Resolves when all of it is in the pipe that the program reads; procman keeps nothing. Lines of
   * up to 4096 bytes are taken whole or not at all.
   *
   * @throws {ProcmanError} `input-full` if the program doesn't read and the pipe has no room (64 KiB): `taken` bytes were
   *   taken, the rest has to be sent again; `input-refused` without `"stdin": true`; `process-not-running`
   *
   * @example
   * await procman.send("game", "save-all\n");
   */
  async send(id: string, input: string | Uint8Array): Promise<InputRecord> {
    const control = await this.#control();
    if (typeof input === "string") return control.input(id, { text: input });
    return control.input(id, { data: Buffer.from(input).toString("base64") });
  }

  /** What `reload` would do, also with another profile. Rejects with `configuration-invalid` and all problems if the file is not valid. */
  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#control()).plan(options);
  }

  /**
   * Applies the configuration file as a whole, or not at all (`configuration-invalid`, `reload-failed`). Only what has
   * changed is restarted. A `profile` stays active until a reload names another one, or none (`null`).
   */
  async reload({ waitSeconds = WAIT_SECONDS, ...options }: WaitOptions & PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#control()).reload({ ...(waitSeconds !== 0 && { waitSeconds }), ...options });
  }

  /** The configurations that were applied, newest first, each with what it changed and who asked for it. */
  async history(limit?: number): Promise<readonly HistoryEntry[]> {
    return (await this.#control()).history(limit);
  }

  /** One of them with its texts, without secrets. Rejects with `history-unknown`. */
  async historyEntry(entry: number | "active" | "previous"): Promise<HistoryDetail> {
    return (await this.#control()).historyEntry(String(entry));
  }

  /**
   * How the texts of two of them differ; without `to`, those of one and the files as they are now.
   *
   * @throws {ProcmanError} `history-unknown`, `history-damaged`
   *
   * @example
   * const { files } = await procman.diff("previous", "active");
   * for (const { file, hunks } of files) console.log(file, hunks.flatMap(({ lines }) => lines).join("\n"));
   */
  async diff(from: number | "active" | "previous", to?: number | "active" | "previous"): Promise<HistoryDiff> {
    return (await this.#control()).diff(String(from), to === undefined ? undefined : String(to));
  }

  /**
   * Puts the texts of an earlier configuration back into its files, and applies it, as a whole or not at all. Without
   * `to`: the configuration in force, if the files differ from it, else the one before it. The text that is replaced stays
   * beside each file, as `procman.jsonc.before-rollback`. With `dryRun: true` it changes nothing, and resolves with what
   * it would do.
   *
   * @throws {ProcmanError} `history-unknown`, `history-damaged`; `rollback-refused` if an included file has changes that
   * are not committed, or the entry is of another machine (`force: true` does it anyway); those of `reload`
   *
   * @example
   * const { rollbackTo, processes } = await procman.rollback("previous");
   */
  async rollback(
    to?: number | "active" | "previous",
    {
      waitSeconds = WAIT_SECONDS,
      force = false,
      dryRun = false,
    }: WaitOptions & { readonly force?: boolean; readonly dryRun?: boolean } = {},
  ): Promise<RollbackRecord> {
    return (await this.#control()).rollback(to === undefined ? undefined : String(to), {
      ...(waitSeconds !== 0 && { waitSeconds }),
      ...(force && { force }),
      ...(dryRun && { dryRun }),
    });
  }

  /** The releases that are there, newest first, each with what runs in it. */
  async releases(): Promise<readonly ReleaseRecord[]> {
    return (await this.#control()).releases();
  }

  /**
   * Makes a release, or takes one that is there, and puts it in use; resolves when it is in use, or has begun with
   * `waitSeconds: 0`. All or nothing: procman goes back by itself.
   *
   * @throws {ProcmanError} `deploy-refused`, `deploy-running`, `release-unknown`; `deploy-failed` with the reason, `wait-timeout`
   *
   * @example
   * const { release } = await procman.deploy({ folder: "/srv/build" });
   */
  async deploy(order: DeployOrder, { waitSeconds = DEPLOY_SECONDS }: WaitOptions = {}): Promise<DeploymentRecord> {
    const control = await this.#control();
    const deployment = await control.deploy(order);
    if (waitSeconds === 0 || deployment.number === 0) return deployment;
    return deploymentEnd(control, deployment, { waitSeconds });
  }

  /** The last deployment, which may be under way. Rejects with `release-unknown`. */
  async deployment(): Promise<DeploymentRecord> {
    return (await this.#control()).deployment("latest");
  }

  /**
   * One page of the runs of a process, an instance, a cluster or `all`, newest first: those that are not over, and of
   * each process the last 100 that have ended.
   *
   * @example
   * const { runs } = await procman.runs("backup", { limit: 10 });
   * for (const { run, started, durationMs, reason } of runs) console.log(run, started, durationMs, reason);
   */
  async runs(id: string, query: RunQuery = {}): Promise<RunPage> {
    return (await this.#control()).runs(id, query);
  }

  /** One page of the stored log. */
  async logs(query: LogQuery = {}): Promise<LogPage> {
    return (await this.#control()).logs(query);
  }

  /**
   * Empties the log files of these processes (instances, clusters, groups); without ids also the stored log of all, up
   * to procman's own entries. What is written from then on stays, and no line is damaged. Rotated files stay.
   *
   * @throws {ProcmanError} `flush-refused` if none of these processes has a log file, `log-unavailable` if the logger
   * doesn't answer
   *
   * @example
   * const { files, kept } = await procman.flush(["web"]);
   */
  async flush(ids?: readonly string[]): Promise<FlushRecord> {
    return (await this.#control()).flush(ids);
  }

  /**
   * The stored log from `query.cursor` or `query.from` on (default: the last `query.limit` entries), then new entries
   * without a gap, across restarts of the service. Ends when procman has ended or the signal is aborted.
   *
   * @example
   * for await (const item of procman.follow({ processes: ["web"] })) if (item.type === "entry")
   * console.log(item.entry.text);
   */
  follow(query: LogQuery = {}, signal?: AbortSignal): AsyncIterable<LogItem> {
    return this.#reader().follow(
      query,
      signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal]),
    );
  }

  /** Listens to events from now on. The first listener opens a connection, which keeps the program alive until `close`. */
  on<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): this {
    this.#events.add(name, listener);
    return this;
  }

  off<Name extends keyof ProcmanEvents>(name: Name, listener: LibraryListener<Name>): this {
    this.#events.remove(name, listener);
    return this;
  }

  /** Stops all processes in order and ends procman. Resolves when it has ended, and listeners and `onLine` have got the last events and lines. */
  async terminate(): Promise<void> {
    await waitForEnd(this.stateDir, async () => (await this.#control()).terminate());
    await Promise.all([this.#events.ended(), this.#lines]);
    this.close();
  }

  /** Ends the connection: listeners and `onLine` get nothing more; procman keeps running. */
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
