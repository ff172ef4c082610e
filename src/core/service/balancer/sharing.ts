/** Clusters whose instances accept from a shared socket themselves: which of them do, who waits in vain, and what they tell of their clients. */
import { addressText } from "../../base/address-text.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { waitsForConnections } from "../../os/epoll.ts";
import { addressOf, type InheritedSockets } from "../../os/inherited-sockets.ts";
import { allListeners } from "../../os/listening-ports.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { isFallingAsleep, isRunning } from "../../supervisor/verdict.ts";
import { warn } from "../log-line.ts";
import type { PendingStop } from "../recovery/notes.ts";
import type { Services } from "../services.ts";
import { clientsFile, readClients } from "../spawn/clients-file.ts";
import { QueueWatch } from "./queue-watch.ts";
import type { Clients, Sleeper } from "./sleep.ts";
import { StrandedClients, startTurningAway } from "./stranded-clients.ts";
import type { UnreachableInstance, UnreachableInstances } from "./unreachable-instances.ts";

type SharingParts = {
  /** The sockets that the keeper has passed to this service. */
  readonly sockets: InheritedSockets | undefined;
  readonly unreachable: () => Pick<UnreachableInstances, "of" | "hasAccepted">;
  readonly isServing: (id: string, state: SlotState) => boolean;
  readonly sendStop: (stop: PendingStop) => void;
  /** A client has come for a cluster that sleeps. */
  readonly onClient: () => void;
};

export class Sharing {
  readonly queues: QueueWatch;
  readonly stranded: StrandedClients;
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;
  readonly #parts: SharingParts;

  constructor(services: Pick<Services, "link" | "log" | "specs" | "supervisor">, parts: SharingParts) {
    this.#services = services;
    this.#parts = parts;
    this.queues = new QueueWatch(services.link, parts.onClient);
    this.stranded = new StrandedClients({
      idle: () => this.#idleSockets(),
      queued,
      turnAway: (socket, isFirst) => this.#turnAwayStranded(socket, isFirst),
    });
  }

  /**
   * Whether it takes over this stop. An instance that falls asleep may have got a client just before: the processes that
   * it has started are asked to end only after it has served that one and ended.
   */
  defersStop(stop: PendingStop): boolean {
    const { specs, supervisor } = this.#services;
    if (specs.of(stop.slot).share === undefined || !supervisor.statesOf(stop.slot).some(isFallingAsleep)) return false;
    this.#parts.sendStop({ ...stop, to: "leader" });
    return true;
  }

  /** Running instances. */
  instances(): readonly UnreachableInstance[] {
    return this.#specs.flatMap(({ id, share }) => {
      const [state] = share === undefined ? [] : this.#services.supervisor.statesOf(id);
      if (share === undefined || !isRunning(state) || !this.#parts.isServing(id, state)) return [];
      const { pid } = state;
      const accepts = (): boolean | undefined => process.platform !== "linux" || waitsForConnections(pid, share.port);
      return [{ id, pid, port: share.port, shared: { address: addressText(share), accepts } }];
    });
  }

  /** What the instances of a cluster tell of their clients, or its queue while they sleep. */
  clientsOf({ specs, share }: Sleeper, isDormant: boolean): Clients {
    const none = { connections: 0, total: 0, waiting: 0 };
    if (share === undefined || isDormant) return { ...none, waiting: share && this.queues.hasClient(share) ? 1 : 0 };
    const { supervisor } = this.#services;
    const running = specs.filter(({ id }) => supervisor.statesOf(id).some(isRunning));
    const counts = running.map(({ id }) => ({ id, count: readClients(clientsFile(this.#stateDir, id)) }));
    const known = counts.flatMap(({ count }) => (typeof count === "object" ? [count] : []));
    const silent = counts.find(({ count }) => typeof count !== "object");
    const problem = this.queues.isSupported ? silent && whyUncounted(silent.id, silent.count) : OLD_KEEPER;
    const served = known.flatMap(({ first }) => first ?? []);
    return {
      ...none,
      connections: known.reduce((sum, { open }) => sum + open, 0),
      lastAt: Math.max(0, ...known.map(({ last }) => last)),
      ...(served.length > 0 && { servedAt: Math.min(...served) }),
      ...(problem !== undefined && { problem }),
    };
  }

  /** Closes the connections of all who wait on a shared socket. Returns how many they are. */
  turnAway(socket: Listening): number {
    const count = queued(socket);
    const fd = this.#parts.sockets?.get(addressOf(socket))?.fd;
    if (count === 0 || fd === undefined) return 0;
    startTurningAway(fd, (problem) =>
      this.#services.log.write(
        this.#clusterAt(socket),
        warn(`Cannot turn away the clients that wait on ${addressText(socket)}: ${problem}`),
      ),
    );
    return count;
  }

  stop(): void {
    this.stranded.stop();
    this.queues.retain([]);
  }

  get #specs(): readonly ProcessSpec[] {
    return this.#services.specs.config.processes;
  }

  get #stateDir(): string {
    return this.#services.specs.config.stateDir;
  }

  #clusterAt({ port }: Listening): string {
    return this.#specs.find(({ share }) => share?.port === port)?.cluster?.id ?? "";
  }

  /** Sockets of which an instance accepts nothing, and that none accepts from for sure. */
  #idleSockets(): readonly Listening[] {
    const unreachable = this.#parts.unreachable();
    const sharing = this.instances();
    const idle = sharing.filter(({ id }) => unreachable.of(id) !== undefined).map(({ port }) => port);
    const served = new Set(sharing.filter(({ id, pid }) => unreachable.hasAccepted(id, pid)).map(({ port }) => port));
    const ports = new Set(idle.filter((port) => !served.has(port)));
    const found = this.#specs.flatMap(({ share }) => (share !== undefined && ports.has(share.port) ? [share] : []));
    return [...new Map(found.map((share) => [share.port, share])).values()];
  }

  #turnAwayStranded(socket: Listening, isFirst: boolean): void {
    const text = `clients have waited on ${addressText(socket)} for 10 s, and no instance accepts from this shared socket: they are turned away`;
    if (this.turnAway(socket) > 0 && isFirst) this.#services.log.write(this.#clusterAt(socket), warn(text));
  }
}

const OLD_KEEPER =
  "procman's keeper is that of an earlier version, which an upgrade leaves; stop procman and start it again";

/** Clients that wait there. */
function queued({ port }: Listening): number {
  return allListeners().reduce((sum, listener) => (listener.port === port ? sum + listener.queued : sum), 0);
}

function whyUncounted(id: string, count: ReturnType<typeof readClients>): string {
  const remedy =
    count === undefined
      ? 'its run is older than "idle": restart it'
      : 'let "cmd" start the Node program itself, and the program listen on the shared socket';
  return `procman can't count the clients of ${id}; ${remedy}`;
}
