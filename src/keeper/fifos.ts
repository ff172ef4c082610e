/** The FIFOs that carry the output of runs: made ahead in batches, used again once they are drained. */
import { execFile } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Two FIFOs of one run. The keeper's own open keeps unread bytes alive while the logger is away. */
export type Pair = { readonly number: number; readonly out: string; readonly err: string; readonly holds: readonly [number, number] };

/** Pairs made beyond what is asked for, so that restarts needn't wait for `mkfifo`. */
const SPARE = 4;
/** Free pairs hold descriptors, too. */
const LARGEST_BATCH = 128;

export class Fifos {
  readonly #folder: string;
  readonly #free: Pair[] = [];
  #last = 0;
  #filling: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }

  /** undefined: call `fill` first. */
  take(): Pair | undefined {
    return this.#free.pop();
  }

  giveBack(pair: Pair): void {
    this.#free.push(pair);
  }

  /** Takes up a pair that an earlier keeper gave to a run; undefined when somebody has removed it. */
  adopt(number: number): Pair | undefined {
    this.#last = Math.max(this.#last, number);
    try {
      return this.#open(number);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** Rejects when the folder takes no more FIFOs. */
  fill(count: number): Promise<void> {
    this.#filling ??= this.#make(count <= 1 ? 1 : Math.min(count + SPARE, LARGEST_BATCH)).finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Closes all that is free, and removes the folder. */
  remove(): void {
    for (const { holds } of this.#free) for (const fd of holds) closeSync(fd);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** All of a batch, or else as few as one: a folder that is nearly full shall serve whom it can. */
  async #make(count: number): Promise<void> {
    try {
      await this.#makeBatch(count);
    } catch (error) {
      if (count === 1) throw error;
      await this.#makeBatch(1);
    }
  }

  async #makeBatch(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => this.#last + 1 + index);
    const names = numbers.flatMap((number) => [`${number}.out`, `${number}.err`]);
    const remove = (): void => {
      for (const name of names) rmSync(join(this.#folder, name), { force: true });
    };
    remove();
    try {
      await mkfifo(this.#folder, names);
      this.#free.push(...this.#openAll(numbers).toReversed());
      this.#last += count;
    } catch (error) {
      remove();
      throw error;
    }
  }

  /** All or none: half of them would only hold what others need. */
  #openAll(numbers: readonly number[]): readonly Pair[] {
    const pairs: Pair[] = [];
    try {
      for (const number of numbers) pairs.push(this.#open(number));
      return pairs;
    } catch (error) {
      for (const { holds } of pairs) for (const fd of holds) closeSync(fd);
      throw error;
    }
  }

  #open(number: number): Pair {
    const [out, err] = [join(this.#folder, `${number}.out`), join(this.#folder, `${number}.err`)];
    const flags = constants.O_RDONLY | constants.O_NONBLOCK;
    const first = openSync(out, flags);
    try {
      return { number, out, err, holds: [first, openSync(err, flags)] };
    } catch (error) {
      closeSync(first);
      throw error;
    }
  }
}

function mkfifo(cwd: string, names: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", ["-m", "600", ...names], { cwd }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.split("\n")[0] || error.message));
    });
  });
}
