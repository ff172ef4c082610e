/** Tells the keeper which shared sockets are to be held: those of clusters of which anything runs, or is about to. */
import { ProcmanError } from "../base/errors.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { Listening } from "../contract/keeper-protocol.ts";
import { addressOf, type KeptSockets } from "../os/kept-sockets.ts";
import type { Link } from "../runtime/link.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { type Line, warn } from "./narrator.ts";
import type { Part } from "./part.ts";

/** `sockets`: what this service would hand on to the next keeper; absent: it hands on nothing. */
export type SharingPorts = {
  readonly link: Pick<Link, "send">;
  readonly voice: { readonly say: (id: string, line: Line) => void };
  readonly sockets?: KeptSockets | undefined;
};

export type Shared = { readonly config: Config; readonly supervisor: Pick<Supervisor, "processes"> };

export class Sharing implements Part {
  readonly #shared: Shared;
  readonly #ports: SharingPorts;
  /** Addresses of sockets that instances have, and nobody who could hand them on. */
  readonly #lost = new Set<string>();
  #isResumed = false;
  #isChanged = false;
  #isClosed = false;
  /** What the keeper was told last. */
  #told: string | undefined;

  constructor(shared: Shared, ports: SharingPorts) {
    this.#shared = shared;
    this.#ports = ports;
  }

  /** A service before this one may have been killed before it told of a stop. */
  resume(): void {
    this.#isResumed = true;
    this.changed();
  }

  /** Why no instance of its can be started beside those that run, and what to do; undefined: for nothing that we know of. */
  readonly remedy = ({ share, cluster }: Pick<ProcessSpec, "share" | "cluster">): string | undefined => {
    if (share === undefined || cluster === undefined || !this.#isLost(share)) return undefined;
    return lossOf(cluster.id);
  };

  /** @throws {ProcmanError} `roll-failed` */
  checkRoll(spec: Pick<ProcessSpec, "share" | "cluster">): void {
    const why = this.remedy(spec);
    if (why !== undefined) throw new ProcmanError("roll-failed", `Cannot restart "${spec.cluster?.id}" one by one: ${why}`);
  }

  apply(): void {
    this.changed();
  }

  /** An instance rests, or doesn't any more. What one turn brings is told at once: in a restart nobody rests. */
  changed(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    setImmediate(() => {
      this.#isChanged = false;
      if (this.#isClosed) return;
      if (this.#isResumed) this.#lookForLost();
      this.#isResumed = false;
      this.#tell();
    });
  }

  /** Whoever comes from now on shall not wait for instances that are about to end. */
  end(): void {
    this.#tell([]);
    this.#isClosed = true;
  }

  retire(): void {
    this.#isClosed = true;
  }

  #tell(wanted = this.#wanted): void {
    const now = JSON.stringify(wanted);
    if (now === this.#told) return;
    this.#told = now;
    this.#ports.link.send({ t: "sockets", wanted });
  }

  /** Keeper, service and logger were killed at once: nobody was left to hand on the sockets. */
  #lookForLost(): void {
    const { sockets, voice } = this.#ports;
    for (const { id, share, cluster } of this.#shared.config.processes) {
      if (sockets === undefined || share === undefined || cluster === undefined || sockets.has(addressOf(share))) continue;
      if (this.#lost.has(addressOf(share)) || !this.#runs(id)) continue;
      this.#lost.add(addressOf(share));
      voice.say(cluster.id, warn(`no instance can be started beside those that run and serve: ${lossOf(cluster.id)}`));
    }
  }

  #isLost(share: Listening): boolean {
    return this.#lost.has(addressOf(share)) && this.#ports.sockets?.has(addressOf(share)) === false;
  }

  #runs(id: string): boolean {
    const process = this.#shared.supervisor.processes.find((each) => each.id === id);
    return process?.states.some(({ status }) => status === "running") === true;
  }

  get #wanted(): readonly Listening[] {
    const awake = new Set(
      this.#shared.supervisor.processes.filter(({ states }) => states.some(({ status }) => status !== "idle")).map(({ id }) => id),
    );
    const wanted = this.#shared.config.processes.flatMap(({ id, share }) => (share !== undefined && awake.has(id) ? [share] : []));
    return [...new Map(wanted.map((share) => [JSON.stringify(share), share])).values()];
  }
}

function lossOf(cluster: string): string {
  const why = "since procman's own processes were killed at once";
  return `only the instances of "${cluster}" that run have its socket, ${why}; "procman restart --hard ${cluster}" opens it anew`;
}
