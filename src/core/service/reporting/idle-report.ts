/** Says when nothing is running any more, and what procman waits for. */
import { hostTime } from "../../base/time-stamp.ts";
import { dependenciesText, skipText } from "../../contract/words.ts";
import type { Process } from "../../supervisor/process.ts";
import { isQuiet } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import type { ProcessStatsCache } from "./process-stats-cache.ts";

const NOTHING = "nothing is running, and nothing starts by itself: ";
const REMEDY = '"procman start ID" starts a process, "procman terminate" ends procman';
/** Keys of `procman dev`. */
const KEYS = "r restarts, q ends";

/** One thing that procman waits for; `key` is the same for the next time of a schedule. */
type Expectation = { readonly key: string; readonly text: string };

export class IdleReport implements Subsystem {
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;
  readonly #stats: Pick<ProcessStatsCache, "dependencyStatus">;
  #isDue = false;
  #isOver = false;
  /** What procman waited for at the last report. */
  #reported: string | undefined;

  constructor(
    services: Pick<Services, "bus" | "log" | "specs" | "supervisor">,
    stats: Pick<ProcessStatsCache, "dependencyStatus">,
  ) {
    this.#services = services;
    this.#stats = stats;
    services.bus.transitions.listen(({ transition: { to } }) => {
      if (isQuiet(to)) this.#checkSoon();
    });
  }

  apply(): void {
    this.#checkSoon();
  }

  end(): void {
    this.#isOver = true;
  }

  retire(): void {
    this.#isOver = true;
  }

  /** After all that the present transition leads to. */
  #checkSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#check();
    });
  }

  #check(): void {
    if (this.#isOver) return;
    const { processes } = this.#services.supervisor;
    if (!processes.every(({ states }) => states.every(isQuiet))) return;
    const expected = [
      ...this.#sleeping(processes),
      ...scheduled(processes),
      ...this.#watched(processes),
      ...this.#waiting(processes),
    ];
    const key = expected.map((each) => each.key).join();
    // A job that runs every minute makes one line.
    if (expected.length > 0 && key === this.#reported) return;
    this.#reported = key;
    const { console } = this.#services.specs.config;
    const nothing = `${NOTHING}${console.reader === "terminal" ? KEYS : REMEDY}`;
    this.#services.log.info(
      expected.length === 0 ? nothing : `nothing is running; ${expected.map(({ text }) => text).join("; ")}`,
    );
  }

  /** Units whose clients wake them. */
  #sleeping(processes: readonly Process[]): readonly Expectation[] {
    const dormant = processes.filter(({ isDormant }) => isDormant);
    const ids = new Set(dormant.map(({ id }) => this.#services.specs.of(id).cluster?.id ?? id));
    if (ids.size === 0) return [];
    const names = [...ids].join(", ");
    return [{ key: `sleep ${names}`, text: `a client wakes ${names}` }];
  }

  #watched(processes: readonly Process[]): readonly Expectation[] {
    const ids = processes
      .filter(
        ({ id, isBlocked, isDisabled }) => !isBlocked && !isDisabled && this.#services.specs.of(id).watch.length > 0,
      )
      .map(({ id }) => id);
    if (ids.length === 0) return [];
    return [{ key: `watch ${ids.join(" ")}`, text: `a changed file starts ${ids.join(", ")}` }];
  }

  #waiting(processes: readonly Process[]): readonly Expectation[] {
    return processes.flatMap(({ id }) => {
      const { waitsFor, skip } = this.#stats.dependencyStatus(id);
      if (waitsFor === undefined) return [];
      const text = skip === undefined ? `${id} waits for ${dependenciesText(waitsFor)}` : `${id} is ${skipText(skip)}`;
      return [{ key: text, text }];
    });
  }
}

/** The next start of a schedule. */
function scheduled(processes: readonly Process[]): readonly Expectation[] {
  const starts = processes.flatMap((process) => {
    const at = process.next("start");
    return at === undefined ? [] : [{ id: process.id, at }];
  });
  const [first] = starts.toSorted((one, other) => one.at - other.at);
  if (first === undefined) return [];
  return [
    {
      key: `schedule ${starts.map(({ id }) => id).join(" ")}`,
      text: `the next start is ${first.id}, at ${hostTime(first.at)}`,
    },
  ];
}
