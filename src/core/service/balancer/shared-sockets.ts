/** Tells the keeper which shared sockets to hold: those of clusters with an instance that is not idle, or that a client wakes. */
import { ProcmanError } from "../../base/errors.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { addressOf, CAN_REOPEN, type InheritedSockets } from "../../os/inherited-sockets.ts";
import type { Process } from "../../supervisor/process.ts";
import { isIdle, isRunning } from "../../supervisor/verdict.ts";
import { warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";

export class SharedSockets implements Subsystem {
  readonly #services: Pick<Services, "link" | "log" | "specs" | "supervisor">;
  readonly #sockets: InheritedSockets | undefined;
  /** Addresses of sockets that only running instances still have: they can't be handed on. */
  readonly #lost = new Set<string>();
  #isResumed = false;
  #isChanged = false;
  #isClosed = false;
  /** The latest message to the keeper, to skip repeats. */
  #lastSent: string | undefined;

  /** `sockets`: those that this service would hand on to the next keeper; absent: none. */
  constructor(
    services: Pick<Services, "bus" | "link" | "log" | "specs" | "supervisor">,
    sockets: InheritedSockets | undefined,
  ) {
    this.#services = services;
    this.#sockets = sockets;
    services.bus.transitions.listen(({ spec: { share } }) => {
      if (share !== undefined) this.#scheduleUpdate();
    });
    // A block changes whether a client may wake it.
    services.bus.events.listen(({ id }) => {
      if (services.specs.find(id)?.idle !== undefined) this.#scheduleUpdate();
    });
  }

  /** The previous service may have been killed before it told the keeper about a stop. */
  resume(): void {
    this.#isResumed = true;
    this.#scheduleUpdate();
  }

  /** Why no further instance can be started, and what to do; undefined: no problem is known. */
  readonly remedy = ({ share, cluster }: Pick<ProcessSpec, "share" | "cluster">): string | undefined => {
    if (share === undefined || cluster === undefined || !this.#isLost(share)) return undefined;
    return lostSocketText(cluster.id);
  };

  /** @throws {ProcmanError} `roll-failed` */
  checkRestart(spec: Pick<ProcessSpec, "share" | "cluster">): void {
    const why = CAN_REOPEN ? undefined : this.remedy(spec);
    if (why !== undefined)
      throw new ProcmanError("roll-failed", `Cannot restart "${spec.cluster?.id}" one by one: ${why}`);
  }

  apply(): void {
    this.#scheduleUpdate();
  }

  /** Sends the wanted sockets, once for all changes of a turn: during a restart an instance is not idle. */
  #scheduleUpdate(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    setImmediate(() => {
      this.#isChanged = false;
      if (this.#isClosed) return;
      if (this.#isResumed) this.#findLost();
      this.#isResumed = false;
      this.#send();
    });
  }

  /** The shutdown has begun: new clients must not wait for instances that are about to end. */
  end(): void {
    this.#send([]);
    this.#isClosed = true;
  }

  retire(): void {
    this.#isClosed = true;
  }

  #send(wanted = this.#wanted): void {
    const now = JSON.stringify(wanted);
    if (now === this.#lastSent) return;
    this.#lastSent = now;
    this.#services.link.send({ t: "sockets", wanted });
  }

  /** Finds sockets that were lost: keeper, service and logger were killed at once, or another program (systemd) has started this keeper. */
  #findLost(): void {
    const sockets = this.#sockets;
    const { log, specs } = this.#services;
    for (const { id, share, cluster } of specs.config.processes) {
      if (sockets === undefined || share === undefined || cluster === undefined || sockets.has(addressOf(share)))
        continue;
      if (this.#lost.has(addressOf(share)) || !this.#isRunning(id)) continue;
      this.#lost.add(addressOf(share));
      if (!CAN_REOPEN) log.write(cluster.id, warn(`Cannot start another instance: ${lostSocketText(cluster.id)}`));
    }
  }

  #isLost(share: Listening): boolean {
    return this.#lost.has(addressOf(share)) && this.#sockets?.has(addressOf(share)) === false;
  }

  #isRunning(id: string): boolean {
    const process = this.#services.supervisor.processes.find((each) => each.id === id);
    return process?.states.some(isRunning) === true;
  }

  get #wanted(): readonly Listening[] {
    const { specs, supervisor } = this.#services;
    const isActive = ({ states, isDormant }: Process): boolean => isDormant || !states.every(isIdle);
    const active = new Set(supervisor.processes.filter(isActive).map(({ id }) => id));
    const wanted = specs.config.processes.flatMap(({ id, share }) =>
      share !== undefined && active.has(id) ? [share] : [],
    );
    return [...new Map(wanted.map((share) => [JSON.stringify(share), share])).values()];
  }
}

function lostSocketText(cluster: string): string {
  const why = "since procman was killed and started again";
  return `only the running instances of "${cluster}" have its socket, ${why}; "procman restart --hard ${cluster}" opens it again`;
}
