/** The FIFOs that carry the output of runs: made ahead in batches, used again once they are drained. */
import { execFile } from "node:child_process";
import { closeSync, constants, existsSync, fstatSync, openSync, readdirSync, readlinkSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../os/files.ts";

/** Two FIFOs of one run. The keeper's own open keeps unread bytes alive while the logger is away. */
export type FifoPair = FifoPaths & { readonly number: number; readonly holds: readonly [number, number] };

export type FifoPaths = { readonly out: string; readonly err: string };

/** Pairs made beyond what is asked for, so that restarts needn't wait for `mkfifo`. */
const SPARE = 4;
/** Free pairs hold descriptors, too. */
const LARGEST_BATCH = 128;

const MODE = ["-m", "600"];

export class FifoPool {
  readonly #folder: string;
  readonly #free: FifoPair[] = [];
  #last = 0;
  #filling: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
    makeFolder(folder, 0o700);
  }

  get isThere(): boolean {
    return existsSync(this.#folder);
  }

  /** The folder was removed: it is made anew, and who has a pair goes on with that (`pathsOf`). */
  renew(): void {
    makeFolder(this.#folder, 0o700);
    const [free, gone] = [this.#free.filter(isWhole), this.#free.filter((pair) => !isWhole(pair))];
    this.#free.splice(0, Number.POSITIVE_INFINITY, ...free);
    for (const pair of gone) close(pair);
  }

  /** undefined: call `fill` first. */
  take(): FifoPair | undefined {
    return this.#free.pop();
  }

  giveBack(pair: FifoPair): void {
    if (isWhole(pair)) this.#free.push(pair);
    else close(pair);
  }

  /** Takes up a pair that an earlier keeper gave to a run of this leader; undefined when it is gone, with all who held it. */
  adopt(number: number, leader: number | undefined): FifoPair | undefined {
    this.#last = Math.max(this.#last, number);
    const paths = this.#paths(number);
    if (leader !== undefined && this.#wereRemoved(leader)) return this.ofProcess(leader);
    return isThere(paths) ? openPair(number, paths) : undefined;
  }

  /** The pair of this process keeps its number, even if its files are gone and nothing tells of it but the process itself. */
  avoid(pid: number): void {
    this.#last = Math.max(this.#last, this.#numberOf(pid) || 0);
  }

  /** The pair that this process writes to, whatever became of its files. Linux only. */
  ofProcess(pid: number): FifoPair | undefined {
    const held = heldBy(pid);
    const number = this.#numberOf(pid);
    const { out, err } = this.#paths(number);
    if (!linkOf(held.out).startsWith(out) || !linkOf(held.err).startsWith(err)) return undefined;
    this.#last = Math.max(this.#last, number);
    const { holds } = openPair(number, held);
    return { number, out, err, holds };
  }

  /** Resolves when they are there. Rejects when the folder takes no more FIFOs. */
  fill(count: number): Promise<void> {
    this.#filling ??= this.#make(count <= 1 ? 1 : Math.min(count + SPARE, LARGEST_BATCH)).finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Closes all that is free, and removes the folder. */
  remove(): void {
    for (const pair of this.#free) close(pair);
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
      const there = new Set(this.isThere ? readdirSync(this.#folder) : []);
      for (const name of names) if (there.has(name)) rmSync(join(this.#folder, name), { force: true });
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
  #openAll(numbers: readonly number[]): readonly FifoPair[] {
    const pairs: FifoPair[] = [];
    try {
      for (const number of numbers) pairs.push(openPair(number, this.#paths(number)));
      return pairs;
    } catch (error) {
      for (const pair of pairs) close(pair);
      throw error;
    }
  }

  /** NaN: it writes into none of ours. */
  #numberOf(pid: number): number {
    const link = linkOf(heldBy(pid).out);
    return link.startsWith(`${this.#folder}/`) ? Number(link.slice(this.#folder.length + 1).split(".")[0]) : Number.NaN;
  }

  /** The files of the pair that it writes into. */
  #wereRemoved(pid: number): boolean {
    const link = linkOf(heldBy(pid).out);
    return link.startsWith(`${this.#folder}/`) && link.endsWith(" (deleted)");
  }

  #paths(number: number): FifoPaths {
    return { out: join(this.#folder, `${number}.out`), err: join(this.#folder, `${number}.err`) };
  }
}

/** By which names another process opens the pair: those of its files, and of our own descriptors where somebody removes, or has removed, the files. */
export function pathsOf(pair: FifoPair): FifoPaths & { readonly held?: FifoPaths } {
  const [out, err] = pair.holds.map((fd) => `/proc/${process.pid}/fd/${fd}`) as [string, string];
  if (!isWhole(pair)) return { out, err };
  return { out: pair.out, err: pair.err, ...(process.platform === "linux" ? { held: { out, err } } : {}) };
}

/** Its files are those that we hold, and not others of the same names. */
function isWhole({ out, err, holds: [first, second] }: FifoPair): boolean {
  return isSame(out, first) && isSame(err, second);
}

function isSame(path: string, fd: number): boolean {
  return statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino;
}

function isThere({ out, err }: FifoPaths): boolean {
  return existsSync(out) && existsSync(err);
}

function heldBy(pid: number): FifoPaths {
  return { out: `/proc/${pid}/fd/1`, err: `/proc/${pid}/fd/2` };
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

function openPair(number: number, { out, err }: FifoPaths): FifoPair {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const first = openSync(out, flags);
  try {
    return { number, out, err, holds: [first, openSync(err, flags)] };
  } catch (error) {
    closeSync(first);
    throw error;
  }
}

function close({ holds }: FifoPair): void {
  for (const fd of holds) closeSync(fd);
}

/** Rejects with the message of the program. */
function mkfifo(cwd: string, names: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", [...MODE, ...names], { cwd }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else reject(new Error(stderr.split("\n")[0] || error.message));
    });
  });
}
