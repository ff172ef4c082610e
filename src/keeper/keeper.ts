/** Owns the children and keeps service and logger up. Does as it is told and remembers what it saw. */
import { EXIT, ProcmanError } from "../base/errors.ts";
import { fingerprint } from "../base/hash.ts";
import { VERSION } from "../base/version.ts";
import { type FromKeeper, PROTOCOL, type ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import { isAlive } from "../os/process-stat.ts";
import { BalancerProcessKeeper } from "./balancer-process.ts";
import { stepOf } from "./balancer-upgrade.ts";
import { DeferredQueue } from "./deferred-queue.ts";
import { RestartingProcess } from "./internal-process.ts";
import type { ProcessExit } from "./ipc-process.ts";
import type { ParentOptions } from "./keeper-options.ts";
import { KeeperShutdown } from "./keeper-shutdown.ts";
import { KeeperState } from "./keeper-state.ts";
import { ListeningSockets } from "./listening-sockets.ts";
import { cantUse, sayAdopted, warn } from "./log.ts";
import { balancerProgram, type Installation, loggerProgram, ownEnvironment, type ProgramStart, serviceProgram } from "./programs.ts";
import { StateDirWatch } from "./state-dir.ts";
import { UpgradeRun } from "./upgrade.ts";
import { UpgradeRequests } from "./upgrade-requests.ts";
import { Watchdog } from "./watchdog.ts";

/** The service is started again this often in a row before it stays down; the processes live on without it. */
const SERVICE_LIMIT = 10;

export class Keeper {
  readonly #start: ProgramStart;
  readonly #deferred = new DeferredQueue();
  readonly #service: RestartingProcess<FromKeeper, ToKeeper>;
  readonly #logger: RestartingProcess<ToLogger, FromLogger>;
  readonly #balancer: BalancerProcessKeeper;
  readonly #sockets: ListeningSockets;
  readonly #ending: KeeperShutdown;
  readonly #upgrade: UpgradeRun;
  readonly #caretaker: StateDirWatch;
  readonly #pulse = new Watchdog({
    look: () => this.#caretaker.look(),
    ping: () => this.#service.send({ t: "ping" }),
    hangs: (silentMs) => this.#onHang(silentMs),
  });
  /** Where they come from: changes with an upgrade. */
  readonly #from: { service: Installation; logger: Installation; balancer: Installation };
  readonly #versions = { service: VERSION, logger: VERSION };
  #state: KeeperState | undefined;
  #style: ToLogger | undefined;

  constructor(start: ProgramStart) {
    const { installation, options } = start;
    this.#start = start;
    this.#from = { service: installation, logger: installation, balancer: installation };
    const own = {
      environment: () => ownEnvironment(start, this.#from.service),
      sockets: () => this.#sockets.all,
      deferred: this.#deferred,
    };
    this.#service = new RestartingProcess({
      argv: () => serviceProgram(this.#from.service, options, this.#state?.folder ?? start.stateDir),
      ...own,
      limit: SERVICE_LIMIT,
      onStart: () => this.#pulse.answered(),
      onMessages: (messages) => this.#onService(messages),
      onExit: (how) => this.#onServiceExit(how),
    });
    this.#logger = new RestartingProcess({
      argv: () => loggerProgram(this.#from.logger),
      ...own,
      limit: Number.POSITIVE_INFINITY,
      onStart: () => this.#onLoggerStart(false),
      onMessages: (messages) => this.#onLogger(messages),
      onExit: () => this.#upgrade.loggerExited(),
    });
    this.#sockets = new ListeningSockets({ start, from: () => this.#from.service, keepers: () => [this.#service, this.#logger] });
    this.#balancer = new BalancerProcessKeeper({
      argv: (socket) => balancerProgram(this.#from.balancer, socket),
      stateDir: () => this.#state?.folder ?? "",
      environment: own.environment,
      journal: () => this.#state?.journal,
    });
    this.#ending = new KeeperShutdown({
      service: this.#service,
      logger: this.#logger,
      balancer: this.#balancer,
      state: () => this.#state,
      // Whose exit code was wanted has not come to its end.
      cutShort: options.exitWith === undefined ? EXIT.done : EXIT.refused,
    });
    this.#caretaker = new StateDirWatch({
      state: () => this.#state,
      isEnding: () => this.#ending.isUnderWay,
      renewed: () => this.#service.send({ t: "renewed" }),
      leave: () => this.#leaveAll(),
    });
    this.#upgrade = new UpgradeRun({ service: this.#service, logger: this.#logger, brief: () => this.#brief() });
  }

  start(): void {
    const desk = new UpgradeRequests((to) => this.#goOver(to));
    this.#service.start();
    this.#logger.start();
    this.#pulse.start();
    const { parent } = this.#start.options;
    if (parent !== undefined) onceGone(parent, () => this.#endUnlessEnding());
    process.on("SIGTERM", () => this.#ending.ask("SIGTERM"));
    process.on("SIGINT", () => this.#ending.ask("SIGINT"));
    process.on("SIGHUP", () => this.#service.send({ t: "signalled", signal: "SIGHUP" }));
    process.on("SIGUSR1", () => this.#state !== undefined && void desk.onSignal(this.#state.folder, this.#start.installation));
    process.on("SIGUSR2", () => this.#logger.send({ t: "reopen" }));
  }

  /** Written down first, then done: whoever dies in between leaves a stop that goes on instead of one that nobody knows of. */
  #onService(messages: readonly ToKeeper[]): void {
    failpoint("keeper.told");
    const isMemory = ({ t }: ToKeeper): boolean => t === "note" || t === "ack";
    for (const message of messages.filter(isMemory)) this.#onServiceMessage(message);
    this.#state?.flush();
    failpoint("keeper.noted");
    for (const message of messages.filter((each) => !isMemory(each))) this.#onServiceMessage(message);
    this.#state?.flush();
  }

  #onServiceMessage(message: ToKeeper): void {
    switch (message.t) {
      case "open":
        return this.#open(message);
      case "logger": {
        if (message.message.t === "style") this.#style = message.message;
        return this.#logger.send(message.message, "deferred");
      }
      case "sync":
        return this.#service.send({ t: "synced", number: message.number });
      case "balancer":
        return this.#balancer.want(message.wanted);
      case "sockets":
        return this.#sockets.retain(message.wanted);
      case "pong":
        return this.#pulse.answered();
      case "ready":
        return this.#upgrade.onReady(message.problem);
      case "aside":
        return this.#upgrade.onAside();
      case "stopping":
        return this.#ending.answered();
      case "end":
        return void this.#ending.finish(message.code);
      default:
        return this.#state?.command(message);
    }
  }

  /** The service has read the configuration: now it is known which folder holds the state. */
  #open({ stateDir, captures, protocol, version }: ToKeeper & { readonly t: "open" }): void {
    this.#versions.service = version;
    if (protocol !== PROTOCOL)
      return this.#refuse(`the running keeper speaks protocol ${PROTOCOL}, the service ${protocol}; stop procman and start it again`);
    const isFirst = this.#state === undefined;
    if (isFirst && !this.#take(stateDir)) return;
    this.#brief();
    // While the service decides what to start.
    if (isFirst) this.#state?.expect(captures);
  }

  #brief(): void {
    if (this.#state === undefined) return;
    this.#service.send({ t: "snapshot", ...this.#state.snapshot(), lineage: this.#start.lineage });
    void this.#service.flush();
  }

  #take(stateDir: string): boolean {
    try {
      const [mark, isRevival] = [fingerprint(stateDir), this.#start.revivals > 0];
      const parts = { service: this.#service, logger: this.#logger, sockets: this.#sockets, deferred: this.#deferred };
      this.#state = new KeeperState({ stateDir, mark, isRevival, ...parts });
    } catch (error) {
      // Service and logger of a killed keeper have both called for another.
      if (this.#start.revivals > 0 && error instanceof ProcmanError) void this.#ending.finish(EXIT.done);
      else this.#refuse(error instanceof ProcmanError ? error.message : cantUse(stateDir, error as Error));
      return false;
    }
    this.#onLoggerStart(true);
    sayAdopted(this.#state.adopted, this.#start.revivals > 0);
    return true;
  }

  #onLoggerStart(isFirst: boolean): void {
    const { pid } = this.#logger.current ?? {};
    if (this.#style !== undefined) this.#logger.send(this.#style);
    if (pid !== undefined) this.#state?.outputs.loggerStarted(pid, isFirst);
  }

  #refuse(reason: string): void {
    this.#service.send({ t: "refused", reason });
  }

  #onLogger(messages: readonly FromLogger[]): void {
    for (const message of messages) {
      if (message.t === "drained") this.#state?.drained(message.key);
      else if (message.t === "closed") this.#ending.loggerClosed();
      else if (message.t === "ready") this.#versions.logger = message.version;
      else this.#service.send({ t: "logger", message });
    }
    this.#state?.flush();
  }

  /** A service that ends on purpose before anything runs (a bad configuration, a second `run`) ends the keeper too. */
  #onServiceExit({ code, signal, final }: ProcessExit & { readonly final: boolean }): void {
    if (this.#ending.serviceExited() || this.#upgrade.serviceExited()) return;
    if (this.#state === undefined && (code !== null || final)) return void this.#ending.finish(code ?? EXIT.bug);
    const how = signal === null ? `exit code ${code}` : signal;
    if (!final) return warn(`the service ended (${how}); it is started again, the processes run on`);
    const reason = `the service ended (${how}) ${SERVICE_LIMIT + 1} times in a row and stays down`;
    warn(`${reason}; the processes run on. Start it again with "procman upgrade", stop all with "procman terminate"`);
    this.#state?.serviceIsDown(reason);
  }

  /** Service first: it says what it needs of the logger. */
  async #goOver(to: Installation): Promise<readonly UpgradeStep[]> {
    const service = await this.#upgrade.service(serviceProgram(to, this.#start.options, this.#state?.folder), this.#versions.service);
    if (!service.ok) return [service];
    this.#from.service = to;
    this.#versions.service = service.to;
    this.#state?.serviceIsUp();
    const logger = await this.#upgrade.logger(loggerProgram(to), this.#versions.logger);
    if (!logger.ok) return [service, logger];
    this.#from.logger = to;
    this.#versions.logger = logger.to;
    const balancer = await stepOf(() => this.#balancer.replace((socket) => balancerProgram(to, socket)));
    if (balancer?.ok !== false) this.#from.balancer = to;
    return [service, logger, balancer ?? []].flat();
  }

  /** A second request would kill. */
  #endUnlessEnding(): void {
    if (!this.#ending.isUnderWay) this.#ending.ask("SIGTERM");
  }

  #onHang(silentMs: number): void {
    const { current } = this.#service;
    if (current === undefined) return;
    warn(`the service has not answered for ${silentMs / 1_000} s; it is ended`);
    current.kill();
  }

  /** Another procman has taken over what runs. */
  #leaveAll(): void {
    this.#service.kill();
    // Two readers of one FIFO would tear its lines apart.
    this.#logger.current?.kill("SIGUSR1");
    process.exit(EXIT.refused);
  }
}

/** The program that procman was started to end with. (Not by a pipe from it: a keeper that comes in place of a killed one has none.) */

/** Where there is no /proc, each look starts a program. Milliseconds. */
const LOOK_MS = process.platform === "linux" ? 250 : 2_000;

/** Calls once when that very program has ended, by whatever. */
function onceGone({ pid, startTime }: ParentOptions, call: () => void): void {
  const timer = setInterval(() => {
    if (isAlive(pid, startTime)) return;
    clearInterval(timer);
    call();
  }, LOOK_MS);
}
