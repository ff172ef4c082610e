/** Owns the children and keeps service and logger up. Does as it is told and remembers what it saw. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "../base/errors.ts";
import { fingerprint } from "../base/fingerprint.ts";
import { type FromKeeper, PROTOCOL, type ToKeeper } from "../contract/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import { makeFolder } from "../os/folder.ts";
import { takeLock } from "../os/lock.ts";
import { Attendant } from "./attendant.ts";
import { Ending } from "./ending.ts";
import { State } from "./state.ts";

/** The service is started again this often in a row before it stays down; the processes live on without it. */
const SERVICE_LIMIT = 10;

export type Programs = { readonly service: readonly string[]; readonly logger: readonly string[] };

export class Keeper {
  readonly #service: Attendant<FromKeeper, ToKeeper>;
  readonly #logger: Attendant<ToLogger, FromLogger>;
  readonly #ending: Ending;
  #state: State | undefined;
  #style: ToLogger | undefined;

  constructor(programs: Programs) {
    this.#service = new Attendant({
      argv: programs.service,
      limit: SERVICE_LIMIT,
      onStart: () => undefined,
      onMessages: (messages) => this.#onService(messages),
      onExit: (how) => this.#onServiceExit(how),
    });
    this.#logger = new Attendant({
      argv: programs.logger,
      limit: Number.POSITIVE_INFINITY,
      onStart: (starts, pid) => {
        this.#state?.loggerStarted(pid);
        if (starts > 1) this.#retellLogger();
      },
      onMessages: (messages) => this.#onLogger(messages),
      onExit: () => undefined,
    });
    this.#ending = new Ending({ service: this.#service, logger: this.#logger, state: () => this.#state });
  }

  start(): void {
    this.#service.start();
    this.#logger.start();
    process.on("SIGTERM", () => this.#ending.ask("SIGTERM"));
    process.on("SIGINT", () => this.#ending.ask("SIGINT"));
    for (const signal of ["SIGHUP", "SIGUSR1"] as const) process.on(signal, () => this.#service.send({ t: "signalled", signal }));
    process.on("SIGUSR2", () => this.#logger.send({ t: "reopen" }));
  }

  #onService(messages: readonly ToKeeper[]): void {
    for (const message of messages) this.#onServiceMessage(message);
    this.#state?.flush();
  }

  #onServiceMessage(message: ToKeeper): void {
    switch (message.t) {
      case "open":
        return this.#open(message);
      case "logger": {
        if (message.message.t === "style") this.#style = message.message;
        return this.#logger.send(message.message);
      }
      case "stopping":
        return this.#ending.answered();
      case "end":
        return void this.#ending.finish(message.code);
      default:
        return this.#state?.command(message);
    }
  }

  /** The service has read the configuration: now it is known which folder holds the state. */
  #open({ stateDir, captures, protocol }: ToKeeper & { readonly t: "open" }): void {
    if (protocol !== PROTOCOL)
      return this.#refuse(`the running keeper speaks protocol ${PROTOCOL}, the service ${protocol}; stop procman and start it again`);
    if (this.#state === undefined && !this.#take(stateDir, captures)) return;
    this.#service.send({ t: "snapshot", ...(this.#state as State).snapshot() });
    this.#service.flush();
  }

  #take(stateDir: string, captures: number): boolean {
    try {
      makeFolder(stateDir, 0o700);
      const lock = takeLock(stateDir);
      if (!("release" in lock)) {
        this.#refuse(
          `procman is already running with this state folder (pid ${lock.pid}, ${stateDir}); stop it with "kill ${lock.pid}" first`,
        );
        return false;
      }
      this.#state = new State({
        folder: join(stateDir, "run"),
        mark: fingerprint(stateDir),
        lock,
        captures,
        service: this.#service,
        logger: this.#logger,
      });
      if (this.#logger.pid !== undefined) this.#state.loggerStarted(this.#logger.pid);
      return true;
    } catch (error) {
      this.#refuse(
        `the state folder ${stateDir} can't be used: ${(error as Error).message}${existsSync(stateDir) ? "" : " (PROCMAN_STATE_DIR names another place for it)"}`,
      );
      return false;
    }
  }

  #retellLogger(): void {
    if (this.#style !== undefined) this.#logger.send(this.#style);
    this.#state?.retellLogger();
  }

  #refuse(reason: string): void {
    this.#service.send({ t: "refused", reason });
  }

  #onLogger(messages: readonly FromLogger[]): void {
    for (const message of messages) {
      if (message.t === "drained") this.#state?.drained(message.key);
      else if (message.t === "closed") this.#ending.loggerClosed();
      else if (message.t !== "ready") this.#service.send({ t: "logger", message });
    }
    this.#state?.flush();
  }

  /** A service that ends on purpose before anything runs (a bad configuration, a second `run`) ends the keeper too. */
  #onServiceExit({ code, signal, final }: { readonly code: number | null; readonly signal: string | null; readonly final: boolean }): void {
    if (this.#ending.serviceExited()) return;
    if (this.#state === undefined && code !== null) return void this.#ending.finish(code);
    const how = signal === null ? `exit code ${code}` : signal;
    process.stderr.write(
      final
        ? `procman: the service ended (${how}) and stays down; the processes run on. Stop all with "kill ${process.pid}"\n`
        : `procman: the service ended (${how}); it is started again, the processes run on\n`,
    );
    if (final && this.#state === undefined) void this.#ending.finish(EXIT.bug);
  }
}
