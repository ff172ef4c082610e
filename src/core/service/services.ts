/** The services that most parts of the service use. Each is made once, in `service.ts`; a part names those that it takes. */
import type { RunMarkers } from "../base/run-marker.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { KeeperChannel } from "./keeper-channel.ts";
import type { ProcessBus } from "./process-bus.ts";
import type { NoteStore } from "./recovery/notes.ts";
import type { ServiceLog } from "./service-log.ts";
import type { SpecRegistry } from "./spec-registry.ts";

/** Messages to the keeper: commands to processes, and what it keeps for the next service. */
export type KeeperLink = Omit<KeeperChannel, "close" | "hold" | "onSynced">;

/** The log, with lines of the service and of processes. */
export type Log = Omit<ServiceLog, "relay">;

/** The active configuration, and the specifications of processes that are being removed. */
export type Specs = Omit<SpecRegistry, "drop" | "replace" | "reset">;

export type Services = {
  readonly link: KeeperLink;
  readonly log: Log;
  /** Notes for the next service. */
  readonly notes: NoteStore;
  readonly specs: Specs;
  /** States of all processes, and commands to them. */
  readonly supervisor: Supervisor;
  /** What happens to processes. */
  readonly bus: ProcessBus;
  /** Markers of runs, by which their processes are recognised. */
  readonly markers: RunMarkers;
};
