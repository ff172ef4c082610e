/** The FIFOs that carry the output of runs: made ahead in batches, used again once they are drained. */
import { execFile } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Two FIFOs of one run. The keeper's own open keeps unread bytes alive while the logger is away. */
export type Pair = { readonly number: number; readonly out: string; readonly err: string; readonly holds: readonly [number, number] };

/** Pairs made beyond what is asked for, so that restarts needn't wait for `mkfifo`. */
const SPARE = 4;

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
    this.#filling ??= this.#make(count + SPARE).finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Closes all that is free, and removes the folder. */
  remove(): void {
    for (const { holds } of this.#free) for (const fd of holds) closeSync(fd);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #make(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => this.#last + 1 + index);
    this.#last += count;
    const names = numbers.flatMap((number) => [`${number}.out`, `${number}.err`]);
    for (const name of names) rmSync(join(this.#folder, name), { force: true });
    await mkfifo(this.#folder, names);
    for (const number of numbers.reverse()) this.#free.push(this.#open(number));
  }

  #open(number: number): Pair {
    const [out, err] = [join(this.#folder, `${number}.out`), join(this.#folder, `${number}.err`)];
    const flags = constants.O_RDONLY | constants.O_NONBLOCK;
    return { number, out, err, holds: [openSync(out, flags), openSync(err, flags)] };
  }
}

function mkfifo(cwd: string, names: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", ["-m", "600", ...names], { cwd }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.trim() || error.message));
    });
  });
}
