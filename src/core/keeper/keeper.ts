/** Owns all processes and keeps service, logger and balancer up. Executes the service's commands and keeps the records. */
import { EXIT, ProcmanError } from "../base/errors.ts";
import { messagesIn } from "../base/messages.ts";
import { VERSION } from "../base/version.ts";
import { type FromKeeper, isStop, PROTOCOL, type ToKeeper } from "../ipc/keeper-protocol.ts";
import type { ConsoleStyle, FromLogger, StyleMessage, ToLogger } from "../ipc/logger-protocol.ts";
import { requestProblem } from "../ipc/service-requests.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import { asCalled } from "../os/called-as.ts";
import { styleSoFar } from "../os/error-output.ts";
import { failpoint } from "../os/failpoint.ts";
import { setTitle } from "../os/part-title.ts";
import { isAlive } from "../os/process-stat.ts";
import { runningKeepers, runsFile } from "../os/running-keepers.ts";
import { BalancerProcessKeeper } from "./balancer-process.ts";
import { upgradeStepOf } from "./balancer-upgrade.ts";
import type { ProcessExit } from "./channel.ts";
import { Channel } from "./channel.ts";
import { DeferredQueue } from "./deferred-queue.ts";
import { InitNotice } from "./init-notice.ts";
import type { ParentOptions } from "./keeper-options.ts";
import { KeeperShutdown } from "./keeper-shutdown.ts";
import { KeeperState } from "./keeper-state.ts";
import { ListeningSockets } from "./listening-sockets.ts";
import { adoptionText, unusableStateDir, warn, warnInStyle } from "./log.ts";
import { UnreadLines } from "./logger-handover.ts";
import {
  balancerProgram,
  current,
  type Installation,
  loggerProgram,
  ownEnvironment,
  type ProgramStart,
  serviceProgram,
} from "./programs.ts";
import { StateDirWatch } from "./state-dir.ts";
import { UpgradeRun } from "./upgrade.ts";
import { UpgradeRequests } from "./upgrade-requests.ts";

/** The service is restarted this often in a row before it stays down; the processes keep running. */
const SERVICE_LIMIT = 10;

/** The first runs wait this long for the logger. Milliseconds. */
const LOGGER_START_MS = 1_000;

export class Keeper {
  readonly #start: ProgramStart;
  readonly #deferred = new DeferredQueue();
  readonly #service: Channel<FromKeeper, ToKeeper>;
  readonly #logger: Channel<ToLogger, FromLogger>;
  readonly #balancer: BalancerProcessKeeper;
  readonly #sockets: ListeningSockets;
  readonly #shutdown: KeeperShutdown;
  readonly #upgrade: UpgradeRun;
  readonly #stateDirWatch: StateDirWatch;
  readonly #initNotice = new InitNotice(process.env, { isStopping: () => this.#shutdown.isUnderWay });
  /** The installed programs of each component; an upgrade replaces them. */
  readonly #installations: { service: Installation; logger: Installation; balancer: Installation };
  /** Users of processes, by their ids. */
  #uids: Readonly<Record<string, number>> = {};
  readonly #versions = { service: VERSION, logger: VERSION };
  #state: KeeperState | undefined;
  #loggerStyle = inheritedStyle();
  readonly #unreadLines = new UnreadLines();

  constructor(start: ProgramStart) {
    const { installation, options } = start;
    this.#start = start;
    this.#installations = { service: installation, logger: installation, balancer: installation };
    const common = {
      environment: () => ownEnvironment(start, this.#installations.service),
      sockets: () => this.#sockets.all,
      deferred: this.#deferred,
    };
    this.#service = new Channel({
      argv: () => serviceProgram(this.#installations.service, options, this.#state?.folder ?? start.stateDir),
      ...common,
      limit: SERVICE_LIMIT,
      onMessages: (messages, socket) => this.#onService(messagesIn(messages), socket),
      onExit: (ending) => this.#onServiceExit(ending),
    });
    this.#logger = new Channel({
      argv: () => loggerProgram(this.#installations.logger),
      ...common,
      limit: Number.POSITIVE_INFINITY,
      onStart: () => this.#onLoggerRestart(),
      onMessages: (messages) => this.#onLogger(messagesIn(messages)),
      onExit: () => this.#upgrade.loggerExited(),
    });
    this.#sockets = new ListeningSockets({
      start,
      from: () => this.#installations.service,
      leaders: () => this.#state?.leaders ?? [],
      keepers: () => [this.#service, this.#logger],
      sendCopy: (message, socket) => this.#service.current?.shareSocket(message, socket),
    });
    this.#balancer = new BalancerProcessKeeper({
      argv: (socket) => balancerProgram(this.#installations.balancer, socket),
      stateDir: () => this.#state?.folder ?? "",
      // By it others know that its ports are those of this procman, also after a kill of the keeper.
      environment: () => ({ ...common.environment(), PROCMAN_DATA_DIR: this.#state?.folder ?? start.stateDir }),
      journal: () => this.#state?.journal,
    });
    this.#shutdown = new KeeperShutdown({
      service: this.#service,
      logger: this.#logger,
      balancer: this.#balancer,
      state: () => this.#state,
      // What `--exit-with` or `--once` waits for has not ended.
      unorderlyCode: options.exitWith === undefined && !options.once ? EXIT.done : EXIT.refused,
    });
    this.#stateDirWatch = new StateDirWatch({
      state: () => this.#state,
      isShuttingDown: () => this.#shutdown.isUnderWay,
      onRecreated: () => this.#service.send({ t: "renewed" }),
      onTakenOver: () => this.#abandonAll(),
    });
    this.#upgrade = this.#newUpgrade();
  }

  #newUpgrade(): UpgradeRun {
    return new UpgradeRun({
      service: this.#service,
      logger: this.#logger,
      sendSnapshot: () => this.#sendSnapshot(),
      prepareLogger: async (candidate) => this.#state?.captures.prepareLogger(candidate),
    });
  }

  start(): void {
    const upgradeRequests = new UpgradeRequests((to) => this.#replaceParts(to));
    this.#service.start();
    this.#logger.start();
    this.#service.startPings({
      message: { t: "ping" },
      onHang: (silentMs) => this.#say(`the service has not answered for ${silentMs / 1_000} s; killing it`),
    });
    this.#stateDirWatch.start();
    const { parent } = this.#start.options;
    if (parent !== undefined) onExitOf(parent, () => this.#shutDownOnce());
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => this.#askToStop(signal));
    const endsWithTerminal = isForTerminal(this.#start.options);
    process.on("SIGHUP", () =>
      endsWithTerminal && !writesToTerminal()
        ? this.#shutDownOnce()
        : this.#service.send({ t: "signalled", signal: "SIGHUP" }),
    );
    process.on(
      "SIGUSR1",
      () =>
        this.#state !== undefined &&
        void upgradeRequests.onSignal(this.#state.folder, current(this.#start.installation)),
    );
    process.on("SIGUSR2", () => this.#logger.send({ t: "reopen" }));
  }

  /**
   * Notes are written before commands are executed: if the keeper dies in between, the next service continues the stop,
   * and the next keeper sends the signals.
   */
  #onService(messages: readonly ToKeeper[], socket: unknown): void {
    failpoint("keeper.told");
    const isRecord = ({ t }: ToKeeper): boolean => t === "note" || t === "ack";
    for (const message of messages.filter(isRecord)) this.#carryOut(message);
    const stops = messages.filter(isStop);
    if (stops.length > 0) this.#state?.noteStops(stops);
    this.#state?.flush();
    failpoint("keeper.noted");
    for (const message of this.#withoutLines(messages.filter((each) => !isRecord(each))))
      this.#carryOut(message, socket);
    if (stops.length > 0) this.#state?.noteStops([]);
    this.#state?.flush();
  }

  /** The lines that come with a stop are sent to the logger before it: then they stand above what the process prints because of it. */
  #withoutLines(messages: readonly ToKeeper[]): readonly ToKeeper[] {
    if (!messages.some(isStop)) return messages;
    for (const message of messages) if (message.t === "logger") this.#carryOut(message);
    void this.#logger.flush();
    return messages.filter(({ t }) => t !== "logger");
  }

  /** A service with a fault doesn't end the keeper: it would ask the next one for the same. */
  #carryOut(message: ToKeeper, socket?: unknown): void {
    const problem = requestProblem(message);
    if (problem === undefined) this.#onServiceMessage(message, socket);
    else warn(`Cannot carry out a request of the service (${message.t}): ${problem}`);
  }

  #onServiceMessage(message: ToKeeper, socket?: unknown): void {
    switch (message.t) {
      case "open":
        return this.#open(message);
      case "logger":
        if (message.message.t === "style") this.#setStyle(message.message);
        return this.#sendToLogger(message.message);
      case "sync":
        return this.#service.send({ t: "synced", number: message.number });
      case "balancer":
        return this.#balancer.setWanted(message.wanted);
      case "sockets":
        return this.#sockets.retain(message.wanted);
      case "copy":
        return void this.#sockets.copy(message.listening);
      case "listening":
        return this.#sockets.keepApi(message.address, socket);
      case "pong":
        return this.#service.answered();
      case "ready":
        this.#initNotice.ready();
        return this.#upgrade.onReady(message.problem);
      case "aside":
        return this.#upgrade.onAside();
      case "stopping":
        return this.#shutdown.serviceAnswered();
      case "end":
        return void this.#shutdown.finish(message.code);
      default:
        return this.#state?.execute(message);
    }
  }

  /** The service has read the configuration and names the state folder. */
  #open({ stateDir, file, captures, protocol, version, uids = {}, style }: ToKeeper & { readonly t: "open" }): void {
    this.#versions.service = version;
    if (style !== undefined) this.#setStyle(style);
    if (protocol !== PROTOCOL)
      return this.#refuse(
        `the running keeper speaks protocol ${PROTOCOL}, the service ${protocol}; stop procman and start it again`,
      );
    this.#uids = uids;
    const isFirst = this.#state === undefined;
    if (isFirst && !this.#openState(stateDir, file)) return;
    this.#sendSnapshot();
    // Done while the service decides what to start.
    if (isFirst) this.#state?.prepareFifos(captures);
  }

  #sendSnapshot(): void {
    if (this.#state === undefined) return;
    const { lineage } = this.#start;
    this.#service.send({ t: "snapshot", ...this.#state.snapshot(), lineage, keepsApi: true, copies: true });
    this.#sendParts();
    void this.#service.flush();
  }

  #sendParts(): void {
    const { pid } = this.#logger.current ?? {};
    const logger = pid === undefined ? {} : { logger: { pid, version: this.#versions.logger } };
    this.#service.send({ t: "parts", keeper: VERSION, ...logger });
  }

  #openState(stateDir: string, file: string | undefined): boolean {
    setTitle("keeper", stateDir);
    // Before the runs that are adopted.
    if (this.#loggerStyle !== undefined) this.#logger.send(this.#loggerStyle);
    try {
      const isFailover = this.#start.failovers > 0;
      if (!isFailover) refuseSecond(stateDir, file);
      const uidOf = (slot: string): number | undefined => this.#uids[slot.replace(/:\d+$/, "")];
      const parts = { service: this.#service, logger: this.#logger, sockets: this.#sockets, deferred: this.#deferred };
      this.#state = new KeeperState({ stateDir, file, uidOf, isFailover, lineage: this.#start.lineage, ...parts });
    } catch (error) {
      // Service and logger of a killed keeper have both started a keeper; the other one holds the lock.
      if (this.#start.failovers > 0 && error instanceof ProcmanError) void this.#shutdown.finish(EXIT.done);
      else this.#refuse(error instanceof ProcmanError ? error.message : unusableStateDir(stateDir, error as Error));
      return false;
    }
    this.#onLoggerStart(true);
    if (!this.#logger.hasAnswered) this.#state.holdRuns(LOGGER_START_MS);
    const adoption = adoptionText(this.#state.adopted, this.#start.failovers > 0);
    if (adoption !== undefined) this.#say(adoption);
    return true;
  }

  /** A line of the keeper itself, for console and log store; before there is a state folder, on standard error. */
  #say(text: string): void {
    if (this.#state === undefined) return warn(text);
    this.#sendToLogger({ t: "say", at: Date.now(), severity: "warn", text: asCalled(text) });
  }

  /** The lines of procman itself are kept for the next logger, in case this one ends before it has stored them. */
  #sendToLogger(message: ToLogger): void {
    if (message.t === "say") this.#unreadLines.add(message, this.#logger.hasAnswered);
    this.#logger.send(message, "deferred");
  }

  #setStyle(message: StyleMessage): void {
    this.#loggerStyle = message;
    warnInStyle(message.style);
  }

  #onLoggerStart(isFirst: boolean): void {
    const { pid } = this.#logger.current ?? {};
    if (this.#loggerStyle !== undefined) this.#logger.send(this.#loggerStyle);
    if (pid !== undefined) this.#state?.captures.loggerStarted(pid, isFirst);
  }

  #onLoggerRestart(): void {
    this.#onLoggerStart(false);
    for (const line of this.#unreadLines.all) this.#logger.send(line, "deferred");
    if (this.#logger.hasAnswered) this.#unreadLines.clear();
    this.#shutdown.loggerStarted();
  }

  #refuse(reason: string): void {
    this.#service.send({ t: "refused", reason });
  }

  #onLogger(messages: readonly FromLogger[]): void {
    this.#unreadLines.clear();
    this.#state?.releaseRuns();
    for (const message of messages) {
      if (message.t === "drained") this.#state?.drained(message.key);
      else if (message.t === "held") this.#state?.captures.held(message.receipt);
      else if (message.t === "closed") this.#shutdown.loggerClosed();
      else {
        if (message.t === "ready") {
          this.#versions.logger = message.version;
          this.#sendParts();
        }
        this.#service.send({ t: "logger", message });
      }
    }
    this.#state?.flush();
  }

  /** A service that exits before anything runs (invalid configuration, a second `run`) ends the keeper too. */
  #onServiceExit({ code, signal, final }: ProcessExit & { readonly final: boolean }): void {
    if (this.#shutdown.serviceExited() || this.#upgrade.serviceExited()) return;
    if (this.#state === undefined && (code !== null || final)) return void this.#shutdown.finish(code ?? EXIT.bug);
    const ending = signal === null ? `exit code ${code}` : signal;
    if (!final) return this.#say(`the service ended (${ending}); restarting it; the processes keep running`);
    const reason = `the service ended (${ending}) ${SERVICE_LIMIT + 1} times in a row and stays down`;
    this.#say(
      `${reason}; the processes keep running. Start it again with "procman upgrade", stop all with "procman terminate"`,
    );
    this.#state?.serviceIsDown(reason);
  }

  /** The service first: it tells what it needs from the logger. */
  async #replaceParts(to: Installation): Promise<readonly UpgradeStep[]> {
    const service = await this.#upgrade.service(
      serviceProgram(to, this.#start.options, this.#state?.folder),
      this.#versions.service,
    );
    if (!service.ok) return [service];
    this.#installations.service = to;
    this.#versions.service = service.to;
    this.#state?.serviceIsUp();
    const logger = await this.#upgrade.logger(loggerProgram(to), this.#versions.logger);
    if (!logger.ok) return [service, logger];
    this.#installations.logger = to;
    this.#versions.logger = logger.to;
    const balancer = await upgradeStepOf(() => this.#balancer.replace((socket) => balancerProgram(to, socket)));
    if (balancer?.ok !== false) this.#installations.balancer = to;
    return [service, logger, balancer ?? []].flat();
  }

  #askToStop(signal: string): void {
    this.#initNotice.stopping();
    this.#shutdown.ask(signal);
  }

  /** Not twice: a second request kills. A terminal that is closed sends SIGHUP by the shell and by the kernel. */
  #shutDownOnce(): void {
    if (!this.#shutdown.isUnderWay) this.#shutdown.ask("SIGTERM");
  }

  /** Another procman has adopted the processes. */
  #abandonAll(): void {
    this.#service.kill();
    // Its logger reads the FIFOs now; two readers would split lines between them.
    this.#logger.current?.kill("SIGUSR1");
    process.exit(EXIT.refused);
  }
}

/** Whether a user watches the output of the processes: then they end with the terminal. */
function isForTerminal({ console, detached, keep }: ProgramStart["options"]): boolean {
  return console && !detached && !keep && writesToTerminal();
}

function writesToTerminal(): boolean {
  return process.getBuiltinModule("node:tty").isatty(1);
}

/** The console style of the component that has started this keeper. */
function inheritedStyle(): StyleMessage | undefined {
  const style = styleSoFar();
  return style && { t: "style", style: style as ConsoleStyle };
}

/** The processes of a file run once, unless another state folder is asked for. @throws {ProcmanError} `already-running` */
function refuseSecond(stateDir: string, file: string | undefined): void {
  if (file === undefined || process.env.PROCMAN_STATE_DIR) return;
  const first = runningKeepers().find(
    (each) => each.pid !== undefined && runsFile(each, file) && each.stateDir !== stateDir,
  );
  if (first === undefined) return;
  throw new ProcmanError(
    "already-running",
    `procman is already running with ${file} (pid ${first.pid}, state folder ${first.stateDir}); stop it with "procman terminate --name ${first.name}" first. To run the file twice, set PROCMAN_STATE_DIR`,
  );
}

/** Without /proc, each check starts a program. Milliseconds. */
const POLL_MS = process.platform === "linux" ? 250 : 2_000;

/** Calls once when this very process has ended. Polled: a keeper started by failover has no pipe from the program. */
function onExitOf({ pid, startTime }: ParentOptions, call: () => void): void {
  const timer = setInterval(() => {
    if (isAlive(pid, startTime)) return;
    clearInterval(timer);
    call();
  }, POLL_MS);
}
