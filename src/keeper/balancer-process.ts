/** Sees to it that one balancer is there while one is wanted: its own, or one that an earlier keeper started and that lives on with its connections. */
import { setTimeout as sleep } from "node:timers/promises";
import type { BalancerReportMessage } from "../ipc/keeper-protocol.ts";
import { balancerSocket } from "../os/balancer-socket.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import { type BalancerUpgrade, upgradeBalancer } from "./balancer-upgrade.ts";
import { RestartingProcess } from "./internal-process.ts";
import type { BalancerProcess, Journal } from "./journal.ts";
import { warn } from "./log.ts";

/** How often it is looked whether one that isn't our child is gone. Milliseconds. */
const LOOK_MS = 50;
/** It lets connections end for 5 s. Milliseconds. */
const END_MS = 7_000;

type Argv = (socket: string) => readonly string[];

export type BalancerProcessOptions = {
  /** `socket`: where it is spoken to. */
  readonly argv: Argv;
  readonly stateDir: () => string;
  readonly environment: () => NodeJS.ProcessEnv;
  /** undefined: the state folder is not known yet. */
  readonly journal: () => Journal | undefined;
};

export class BalancerProcessKeeper {
  readonly #options: BalancerProcessOptions;
  #own: RestartingProcess<never, BalancerReportMessage> | undefined;
  #adopted: BalancerProcess | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BalancerProcessOptions) {
    this.#options = options;
  }

  want(isWanted: boolean): void {
    if (!isWanted) return void this.end();
    if (this.#own !== undefined || this.#adopted !== undefined) return;
    const known = this.#options.journal()?.state.balancer.current;
    if (known !== undefined && isAlive(known.pid, known.startTime)) this.#adopt(known);
    else this.#start();
  }

  /** Resolves when it has ended: it serves nobody new, and lets connections end for a while. */
  async end(): Promise<void> {
    const ending = this.#adopted ?? this.#process;
    clearInterval(this.#timer);
    this.#own?.retire();
    this.#own = undefined;
    this.#adopted = undefined;
    if (ending === undefined) return;
    signalIfThere(ending.pid, "SIGTERM");
    for (const late = performance.now() + END_MS; isAlive(ending.pid, ending.startTime); await sleep(LOOK_MS))
      if (performance.now() > late) signalIfThere(ending.pid, "SIGKILL");
    const journal = this.#options.journal();
    if (journal?.state.balancer.current?.pid === ending.pid) journal.add({ t: "balancer-gone", pid: ending.pid });
    journal?.flush();
  }

  /** By another program, which takes the sockets over; the old one ends with its last client. Resolves with the versions; undefined: there is none to replace. */
  async replace(argv: Argv): Promise<BalancerUpgrade | undefined> {
    const { journal, environment } = this.#options;
    const former = this.#adopted ?? this.#process;
    if (former === undefined) return undefined;
    // A keeper that comes in between asks at the socket who serves.
    journal()?.add({ t: "balancer-gone", pid: former.pid });
    journal()?.flush();
    try {
      const succession = await upgradeBalancer(this.#socket, { argv: argv(this.#socket), env: environment() });
      if (this.#own === undefined && this.#adopted === undefined) {
        signalIfThere(succession.to.pid, "SIGTERM");
        throw new Error("everything has been ended meanwhile");
      }
      clearInterval(this.#timer);
      this.#own?.retire();
      this.#own = undefined;
      this.#adopt(succession.to);
      return succession;
    } catch (error) {
      const { pid, startTime } = this.#adopted ?? this.#process ?? former;
      journal()?.add({ t: "balancer", pid, startTime });
      throw error;
    } finally {
      journal()?.flush();
    }
  }

  get #socket(): string {
    return balancerSocket(this.#options.stateDir());
  }

  get #process(): BalancerProcess | undefined {
    const { pid } = this.#own?.current ?? {};
    return pid === undefined ? undefined : { pid, startTime: processStat(pid)?.startTime ?? "" };
  }

  #start(): void {
    const { argv, environment } = this.#options;
    const own = new RestartingProcess<never, BalancerReportMessage>({
      argv: () => argv(this.#socket),
      environment,
      limit: Number.POSITIVE_INFINITY,
      onStart: () => this.#know(),
      onMessages: ([word]) => word !== undefined && this.#own === own && this.#giveWay(word),
      onExit: ({ code, signal, final }) =>
        final || warn(`the balancer ended (${signal ?? `exit code ${code}`}); it is started again, connections through it are broken`),
    });
    this.#own = own;
    own.start();
  }

  /** Written down at once: a keeper after us must not start another. */
  #know(): void {
    const journal = this.#options.journal();
    // `own.start()` calls before it returns.
    const known = this.#process;
    if (known === undefined || journal === undefined) return;
    journal.add({ t: "balancer", ...known });
    journal.flush();
  }

  /** The one that we started has found another: a keeper was killed between its start and its record. */
  #giveWay({ pid, startTime }: BalancerReportMessage): void {
    this.#own?.retire();
    this.#own = undefined;
    if (pid > 1) this.#adopt({ pid, startTime });
  }

  #adopt(balancer: BalancerProcess): void {
    this.#adopted = balancer;
    this.#options.journal()?.add({ t: "balancer", ...balancer });
    this.#timer = setInterval(() => {
      if (isAlive(balancer.pid, balancer.startTime)) return;
      clearInterval(this.#timer);
      this.#adopted = undefined;
      warn("the balancer ended; it is started again, connections through it are broken");
      this.#start();
    }, LOOK_MS);
  }
}
