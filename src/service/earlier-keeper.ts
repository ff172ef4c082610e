/** Warns of settings that a keeper of 0.1.0 doesn't know: an upgrade leaves the keeper in place. */
import type { Inheritance } from "../base/inherited-variables.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { ServiceLog } from "./reporting/service-log.ts";
import type { Subsystem } from "./subsystem.ts";

export type EarlierKeeperPorts = {
  readonly specs: () => readonly ProcessSpec[];
  readonly inheritance: (spec: ProcessSpec) => Inheritance | undefined;
  /** Without a key: the keeper is of 0.1.0. Known once the snapshot is there. */
  readonly markers: { readonly key: string | undefined };
  readonly log: Pick<ServiceLog, "warn">;
};

export class EarlierKeeper implements Subsystem {
  readonly #ports: EarlierKeeperPorts;
  #reported: string | undefined;

  constructor(ports: EarlierKeeperPorts) {
    this.#ports = ports;
  }

  resume(): void {
    this.#report();
  }

  apply(): void {
    this.#report();
  }

  /** Each set of processes once. */
  #report(): void {
    const { markers, log } = this.#ports;
    if (markers.key !== undefined) return;
    const limits = this.#limits().join("; ");
    if (limits !== "" && limits !== this.#reported)
      log.warn(`the keeper is of an earlier version until procman is terminated and started again: ${limits}`);
    this.#reported = limits;
  }

  #limits(): readonly string[] {
    const { specs, inheritance } = this.#ports;
    const all = specs();
    const line = (chosen: readonly ProcessSpec[], limit: string): readonly string[] =>
      chosen.length === 0 ? [] : [`${limit}: ${chosen.map(({ id }) => JSON.stringify(id)).join(", ")}`];
    return [
      ...line(
        all.filter((spec) => inheritance(spec) !== undefined),
        "runs that inherit all of procman's environment",
      ),
      ...line(
        all.filter(({ policy }) => policy.killMode === "leader"),
        "runs whose whole process group gets each signal",
      ),
      ...line(
        all.filter(({ node }) => node === true),
        'runs that get the message "drain" instead of "shutdown"',
      ),
    ];
  }
}
