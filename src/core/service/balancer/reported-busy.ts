/** Which runs have said by telemetry that they are busy. Noted: a new service knows it before their next report. */
import { hasCurrentRun } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";

export class ReportedBusy {
  readonly #services: Pick<Services, "notes" | "specs" | "supervisor">;
  /** The run that has said so last, by id of its process. */
  #runs: Readonly<Record<string, number>> = {};

  constructor(services: Pick<Services, "bus" | "notes" | "specs" | "supervisor">) {
    this.#services = services;
    services.bus.reports.listen(({ process, metrics = {} }) => this.#set(process, (metrics.busy ?? 0) !== 0));
    services.bus.removed.listen((id) => this.#set(id, false));
  }

  resume(): void {
    this.#runs = this.#services.notes.read(":busy") ?? {};
  }

  /** Whether the present run has said so; a later one has not. */
  readonly has = (id: string): boolean => this.#runs[id] !== undefined && this.#runs[id] === this.#runOf(id);

  #runOf(id: string): number | undefined {
    return this.#services.supervisor.statesOf(id).find(hasCurrentRun)?.run;
  }

  #set(id: string, isBusy: boolean): void {
    const { notes, specs } = this.#services;
    const run = isBusy && specs.find(id)?.idle !== undefined ? this.#runOf(id) : undefined;
    if (this.#runs[id] === run) return;
    const { [id]: _, ...others } = this.#runs;
    this.#runs = run === undefined ? others : { ...others, [id]: run };
    if (Object.keys(this.#runs).length === 0) notes.remove(":busy");
    else notes.write(":busy", this.#runs);
  }
}
