/** The runs of an earlier keeper. They are not children of this keeper, so it checks whether they have ended. */
import type { RunningRun } from "../ipc/keeper-protocol.ts";
import { keyOf } from "../ipc/logger-protocol.ts";
import { groupLives, isTaken, livingGroups } from "../os/process-groups.ts";
import { isAlive } from "../os/process-stat.ts";
import { unlessShort } from "../os/shortage.ts";

/**
 * All are looked at this often, or every N ms if there are N > 100 of them. After a sign that some may end, the next
 * look is this soon; the looks after it are further and further apart again, while none has ended.
 */
const POLL_MS = 100;
/** A look tests only whether the pid is taken, in 1 to 2 µs each; one in this many also whether it is the same process, and no zombie. */
const LOOKS_PER_STAT = 20;

export class AdoptedRuns {
  /** `survivors`: the run left processes of its group behind. */
  readonly #onEnd: (running: RunningRun, survivors: boolean) => void;
  readonly #runs = new Map<string, RunningRun>();
  /** Runs whose output has ended. */
  readonly #silent = new Set<string>();
  #isLookDue = false;
  #timer: NodeJS.Timeout | undefined;
  /** Until the next look at all. */
  #nextMs = POLL_MS;
  #looks = 0;

  constructor(onEnd: (running: RunningRun, survivors: boolean) => void) {
    this.#onEnd = onEnd;
  }

  has(key: string): boolean {
    return this.#runs.has(key);
  }

  add(running: RunningRun): void {
    this.#runs.set(keyOf(running), running);
    this.#timer ??= setTimeout(() => this.#lookAtAll(), this.#nextMs);
  }

  /** Reports those that have ended. `isOwn`: whether the living group with the pid of such a run is what the run left behind. */
  check(isOwn?: (running: RunningRun) => boolean): void {
    this.#report(this.#runs.values(), isRunningStill, isOwn);
  }

  /**
   * All that held the output of a run have closed it: it has most likely ended. Those of one turn of the event loop are
   * looked at together, as a look may read all processes of the machine.
   */
  outputEnded(key: string): void {
    if (!this.#runs.has(key)) return;
    this.#silent.add(key);
    if (this.#isLookDue) return;
    this.#isLookDue = true;
    setImmediate(() => {
      this.#isLookDue = false;
      this.#report(
        [...this.#silent].flatMap((each) => this.#runs.get(each) ?? []),
        isRunningStill,
      );
      // Its files were closed, its end comes in a moment; or it runs on without output.
      if (this.#silent.size > 0) this.lookSoon();
    });
  }

  /** Some were signalled. Calls come in crowds: they don't postpone a look that comes soon. */
  lookSoon(): void {
    if (this.#timer === undefined || this.#nextMs === POLL_MS) return;
    clearTimeout(this.#timer);
    this.#nextMs = POLL_MS;
    this.#timer = setTimeout(() => this.#lookAtAll(), POLL_MS);
  }

  #lookAtAll(): void {
    this.#looks += 1;
    const isThorough = this.#looks % LOOKS_PER_STAT === 0;
    const haveEnded = this.#report(this.#runs.values(), (running) =>
      isThorough || this.#silent.has(keyOf(running)) ? isRunningStill(running) : isTaken(running.pid),
    );
    const mostMs = Math.max(POLL_MS, this.#runs.size);
    this.#nextMs = haveEnded ? POLL_MS : Math.min(2 * this.#nextMs, mostMs);
    if (this.#nextMs === mostMs) this.#silent.clear();
    this.#timer = this.#runs.size === 0 ? undefined : setTimeout(() => this.#lookAtAll(), this.#nextMs);
  }

  /** Returns whether some have ended. */
  #report(
    runs: Iterable<RunningRun>,
    isRunning: (running: RunningRun) => boolean,
    isOwn: (running: RunningRun) => boolean = () => true,
  ): boolean {
    const ended = [...runs].filter((running) => !isRunning(running));
    if (ended.length === 0) return false;
    const groups = ended.some(({ pid }) => groupLives(pid)) ? unlessShort(livingGroups) : new Set<number>();
    // What can't be looked up now is looked up with the next look.
    for (const running of groups === undefined ? [] : ended) {
      this.#runs.delete(keyOf(running));
      this.#silent.delete(keyOf(running));
      this.#onEnd(running, groups?.has(running.pid) === true && isOwn(running));
    }
    return true;
  }
}

function isRunningStill({ pid, startTime }: RunningRun): boolean {
  return isAlive(pid, startTime);
}
