/** One incident for each time that a cluster can't grow although its load needs it: it lasts until the cluster has grown, or needs no more. */
import type { Clock } from "../../base/timer-clock.ts";
import type { Incident } from "../../contract/run-summary.ts";
import type { ServiceIncidents } from "../reporting/incidents.ts";

/** What comes again within this time is the same incident. Milliseconds. */
export const SAME_MS = 300_000;

type Known = { readonly incident: Incident; readonly until: number };

export class GrowthIncidents {
  readonly #incidents: Pick<ServiceIncidents, "write" | "latest">;
  readonly #clock: Clock;
  /** The latest one of each cluster; undefined: it has none. `until`: monotonic time until which it may go on. */
  readonly #known = new Map<string, Known | undefined>();

  constructor(incidents: Pick<ServiceIncidents, "write" | "latest">, clock: Clock) {
    this.#incidents = incidents;
    this.#clock = clock;
  }

  open(cluster: string, reason: string): void {
    const known = this.#latest(cluster);
    if (known !== undefined && known.incident.ended === undefined) return;
    const isSame = known !== undefined && this.#clock.now() < known.until;
    const time = isSame ? known.incident.time : new Date(this.#clock.wall()).toISOString();
    const decision = "no instance is added";
    this.#write({ time, process: cluster, run: 0, cause: "growth-refused", reason, decision, lines: [], metrics: [] });
  }

  /** `decision`: why it is over. */
  close(cluster: string, decision: string): void {
    const incident = this.#latest(cluster)?.incident;
    if (incident === undefined || incident.ended !== undefined) return;
    this.#write({ ...incident, ended: new Date(this.#clock.wall()).toISOString(), decision });
  }

  closeAll(decision: string): void {
    for (const cluster of this.#known.keys()) this.close(cluster, decision);
  }

  /** The latest one; an earlier service, which was killed or handed over, may have written it. */
  #latest(cluster: string): Known | undefined {
    if (!this.#known.has(cluster)) {
      const incident = this.#incidents.latest(cluster);
      this.#known.set(cluster, incident?.cause === "growth-refused" ? this.#resumed(incident) : undefined);
    }
    return this.#known.get(cluster);
  }

  /** The incident of an earlier service: its times are those of the wall clock. */
  #resumed(incident: Incident): Known {
    const age = this.#clock.wall() - Date.parse(incident.ended ?? incident.time);
    return { incident, until: this.#clock.now() + SAME_MS - Math.max(0, age) };
  }

  #write(incident: Incident): void {
    this.#known.set(incident.process, { incident, until: this.#clock.now() + SAME_MS });
    this.#incidents.write(incident);
  }
}
