/** Keeps one balancer running while one is wanted: a child, or one adopted from an earlier keeper, with its connections. */
import { setTimeout as sleep } from "node:timers/promises";
import type { BalancerReportMessage } from "../ipc/keeper-protocol.ts";
import { balancerSocket } from "../os/balancer-socket.ts";
import { signalIfThere } from "../os/process-signal.ts";
import { isAlive, processStat } from "../os/process-stat.ts";
import { type BalancerUpgrade, upgradeBalancer } from "./balancer-upgrade.ts";
import { Channel } from "./channel.ts";
import type { BalancerProcess, Journal } from "./journal.ts";
import { warn } from "./log.ts";

/** How often an adopted balancer is checked for its end. Milliseconds. */
const POLL_MS = 50;
/** A balancer that ends gives its connections 5 s; after this it is killed. Milliseconds. */
const KILL_AFTER_MS = 7_000;

type ArgvOfSocket = (socket: string) => readonly string[];

export type BalancerProcessOptions = {
  /** `socket`: path of its control socket. */
  readonly argv: ArgvOfSocket;
  readonly stateDir: () => string;
  readonly environment: () => NodeJS.ProcessEnv;
  /** undefined: the state folder is not known yet. */
  readonly journal: () => Journal | undefined;
};

export class BalancerProcessKeeper {
  readonly #options: BalancerProcessOptions;
  #own: Channel<never, BalancerReportMessage> | undefined;
  #adopted: BalancerProcess | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BalancerProcessOptions) {
    this.#options = options;
  }

  setWanted(isWanted: boolean): void {
    if (!isWanted) return void this.end();
    if (this.#own !== undefined || this.#adopted !== undefined) return;
    const known = this.#recorded;
    if (known === undefined) this.#start();
    else this.#adopt(known);
  }

  /** Resolves when it has ended. It accepts no new connection, and lets those it has end for a while. */
  async end(): Promise<void> {
    const ending = this.#adopted ?? this.#process ?? this.#recorded;
    clearInterval(this.#timer);
    this.#own?.retire();
    this.#own = undefined;
    this.#adopted = undefined;
    if (ending === undefined) return;
    signalIfThere(ending.pid, "SIGTERM");
    for (
      const deadline = performance.now() + KILL_AFTER_MS;
      isAlive(ending.pid, ending.startTime);
      await sleep(POLL_MS)
    )
      if (performance.now() > deadline) signalIfThere(ending.pid, "SIGKILL");
    const journal = this.#options.journal();
    if (journal?.state.balancer.current?.pid === ending.pid) journal.add({ t: "balancer-gone", pid: ending.pid });
    journal?.flush();
  }

  /** Starts another program, which takes over the sockets; the old one ends with its last client. Resolves with the versions; undefined: there is none to replace. */
  async replace(argv: ArgvOfSocket): Promise<BalancerUpgrade | undefined> {
    const { journal, environment } = this.#options;
    const previous = this.#adopted ?? this.#process;
    if (previous === undefined) return undefined;
    // If this keeper is killed meanwhile, the next one asks at the socket which balancer serves.
    journal()?.add({ t: "balancer-gone", pid: previous.pid });
    journal()?.flush();
    try {
      const upgrade = await upgradeBalancer(balancerSocket(this.#options.stateDir()), {
        argv: argv(this.#socket),
        env: environment(),
      });
      if (this.#own === undefined && this.#adopted === undefined) {
        signalIfThere(upgrade.to.pid, "SIGTERM");
        throw new Error("procman has ended all balancers meanwhile");
      }
      clearInterval(this.#timer);
      this.#own?.retire();
      this.#own = undefined;
      this.#adopt(upgrade.to);
      return upgrade;
    } catch (error) {
      const { pid, startTime } = this.#adopted ?? this.#process ?? previous;
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

  /** That of an earlier keeper, while it is not adopted. */
  get #recorded(): BalancerProcess | undefined {
    const known = this.#options.journal()?.state.balancer.current;
    return known !== undefined && isAlive(known.pid, known.startTime) ? known : undefined;
  }

  #start(): void {
    const { argv, environment } = this.#options;
    const child = new Channel<never, BalancerReportMessage>({
      argv: () => argv(this.#socket),
      environment,
      limit: Number.POSITIVE_INFINITY,
      onStart: () => this.#record(),
      onMessages: ([report]) => report !== undefined && this.#own === child && this.#onOther(report),
      onExit: ({ code, signal, final }) =>
        final ||
        warn(`the balancer ended (${signal ?? `exit code ${code}`}); restarting it; its connections are broken`),
    });
    this.#own = child;
    child.start();
  }

  /** Written at once, so that a later keeper doesn't start another. */
  #record(): void {
    const journal = this.#options.journal();
    // `own.start()` calls this before it returns.
    const known = this.#process;
    if (known === undefined || journal === undefined) return;
    journal.add({ t: "balancer", ...known });
    journal.flush();
  }

  /** Our child has found another balancer: a keeper was killed between that one's start and its record. */
  #onOther({ pid, startTime }: BalancerReportMessage): void {
    this.#own?.retire();
    this.#own = undefined;
    if (pid > 1) this.#adopt({ pid, startTime });
  }

  #adopt({ pid, startTime }: BalancerProcess): void {
    this.#adopted = { pid, startTime };
    this.#options.journal()?.add({ t: "balancer", pid, startTime });
    this.#timer = setInterval(() => {
      if (isAlive(pid, startTime)) return;
      clearInterval(this.#timer);
      this.#adopted = undefined;
      warn("the balancer ended; restarting it; its connections are broken");
      this.#start();
    }, POLL_MS);
  }
}
