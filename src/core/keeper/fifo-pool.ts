/** The FIFOs that carry the output of runs: made in advance in batches, reused once they are drained. */
import { execFile } from "node:child_process";
import { closeSync, constants, existsSync, openSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { errnoOf } from "../base/errors.ts";
import { linkIfSeen, makeFolder, statIfSeen } from "../os/files.ts";
import { leadsTo, openWithFallback } from "../os/open-files.ts";
import { openFilesLimit } from "../os/process-rights.ts";
import { allProcesses, type ProcessStat } from "../os/process-stat.ts";
import { terminalHolder } from "../os/pseudo-terminal.ts";

/** Two FIFOs of one run. The keeper's descriptors keep unread bytes alive while the logger is down. */
export type FifoPair = FifoPaths & { readonly number: number; readonly fds: readonly [number, number] };

export type FifoPaths = { readonly out: string; readonly err: string };

/** `held`: paths to use while the files have been removed or their folder has no rights. */
export type OpenablePaths = FifoPaths & { readonly held?: FifoPaths };

/** Pairs made beyond the number asked for, so that restarts don't wait for `mkfifo`. */
const SPARE = 4;
/** Limited, as free pairs hold descriptors too. */
const LARGEST_BATCH = 128;
/** Descriptors that stay free: for forks, channels and files of the keeper. Otherwise FIFOs take the last ones, and no run can start. */
const FREE_DESCRIPTORS = 20;

const MODE = ["-m", "600"];

/** What the kernel shows for a FIFO of a run. */
const FIFO = /\/run\/fifos\/(\d+)\.(out|err)(?: \(deleted\))?$/;

const FILE = /^(\d+)\.(?:out|err)$/;

export class FifoPool {
  readonly #folder: string;
  readonly #free: FifoPair[] = [];
  #last = 0;
  #filling: Promise<void> | undefined;
  readonly #onMade: (pairs: readonly FifoPaths[]) => Promise<void>;

  /** `onMade`: new pairs can be taken once this resolves. */
  constructor(folder: string, onMade: (pairs: readonly FifoPaths[]) => Promise<void> = () => Promise.resolve()) {
    this.#folder = folder;
    this.#onMade = onMade;
    makeFolder(folder, 0o700);
  }

  get exists(): boolean {
    return existsSync(this.#folder);
  }

  /** Recreates a removed folder. Pairs in use stay in use (`pathsOf`). */
  recreate(): void {
    makeFolder(this.#folder, 0o700);
    const free = this.#free.filter(isIntact);
    const gone = this.#free.filter((pair) => !isIntact(pair));
    this.#free.splice(0, Number.POSITIVE_INFINITY, ...free);
    for (const pair of gone) close(pair);
  }

  /** For another process. */
  get free(): readonly OpenablePaths[] {
    return this.#free.map(pathsOf);
  }

  /** undefined: call `fill` first. */
  take(): FifoPair | undefined {
    return this.#free.pop();
  }

  giveBack(pair: FifoPair): void {
    if (isIntact(pair)) this.#free.push(pair);
    else close(pair);
  }

  /** Adopts the pair that an earlier keeper gave to the run of this leader; undefined: it is gone, and so are all that held it. */
  adopt(number: number, leader: number | undefined): FifoPair | undefined {
    this.#last = Math.max(this.#last, number);
    const paths = this.#paths(number);
    if (leader !== undefined && numberOf(leader) === number && !isSameFifo(heldBy(leader), paths))
      return this.ofProcess(leader);
    return exists(paths) ? openPair(number, paths) : undefined;
  }

  /** Removes the files that an earlier keeper left, except those of these pairs and of those that these processes write to. */
  removeOthers(pairs: Iterable<FifoPair>, writers: readonly number[]): void {
    const used = new Set([...[...pairs].map(({ number }) => number), ...writers.map(numberOf)]);
    for (const name of readdirSync(this.#folder)) {
      const number = FILE.exec(name)?.[1];
      if (number !== undefined && !used.has(Number(number))) rmSync(join(this.#folder, name), { force: true });
    }
  }

  /** No new pair gets the number of this process's pair, even if its files and records are gone. */
  reserveNumberOf(pid: number): void {
    this.#last = Math.max(this.#last, numberOf(pid) ?? 0);
  }

  /** The pair that this process writes to, wherever its files are, and even if they were removed. Linux only. */
  ofProcess(pid: number): FifoPair | undefined {
    const number = numberOf(pid);
    if (number === undefined) return undefined;
    this.#last = Math.max(this.#last, number);
    const { fds } = openPair(number, heldBy(pid));
    return { number, ...this.#paths(number), fds };
  }

  /** The group leader that writes to this pair. Linux only. */
  leaderOf(number: number): ProcessStat | undefined {
    const paths = this.#paths(number);
    return allProcesses().find(
      ({ pid, group, state }) => pid === group && state !== "Z" && isSameFifo(outputsOf(pid), paths),
    );
  }

  /** Resolves when they are made. Rejects when the folder takes no more FIFOs. */
  fill(count: number): Promise<void> {
    this.#filling ??= this.#make(Math.min(count <= 1 ? 1 : count + SPARE, LARGEST_BATCH)).finally(() => {
      this.#filling = undefined;
    });
    return this.#filling;
  }

  /** Closes all free pairs, and removes the folder. */
  remove(): void {
    for (const pair of this.#free) close(pair);
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Makes as many of them as possible: where folder or descriptors don't suffice for the batch, half of it, and so on. */
  async #make(wanted: number): Promise<void> {
    const count = Math.min(wanted, pairsWithRoom());
    if (count < 1) throw Object.assign(new Error("too many open files"), { code: "EMFILE" });
    try {
      await this.#makeBatch(count);
    } catch (error) {
      if (count === 1) throw error;
      await this.#make(Math.floor(count / 2));
    }
  }

  async #makeBatch(count: number): Promise<void> {
    const numbers = Array.from({ length: count }, (_, index) => this.#last + 1 + index);
    const names = numbers.flatMap((number) => [`${number}.out`, `${number}.err`]);
    const remove = (): void => {
      const there = new Set(this.exists ? readdirSync(this.#folder) : []);
      for (const name of names) if (there.has(name)) rmSync(join(this.#folder, name), { force: true });
    };
    remove();
    try {
      await mkfifo(this.#folder, names);
      const pairs = this.#openAll(numbers);
      this.#last += count;
      await this.#onMade(pairs);
      for (const pair of pairs.toReversed()) this.giveBack(pair);
    } catch (error) {
      remove();
      throw error;
    }
  }

  /** All or none. */
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

  #paths(number: number): FifoPaths {
    return { out: join(this.#folder, `${number}.out`), err: join(this.#folder, `${number}.err`) };
  }
}

/** For so many pairs there are descriptors. */
function pairsWithRoom(): number {
  const limit = openFilesLimit();
  return limit === Infinity ? limit : Math.floor((limit - readdirSync("/proc/self/fd").length - FREE_DESCRIPTORS) / 2);
}

/** Paths by which another process opens the pair: its files, or (`held`) the keeper's own descriptors. */
export function pathsOf(pair: FifoPair): OpenablePaths {
  const [out, err] = pair.fds.map((fd) => `/proc/${process.pid}/fd/${fd}`) as [string, string];
  if (!isIntact(pair)) return { out, err };
  return { out: pair.out, err: pair.err, ...(process.platform === "linux" ? { held: { out, err } } : {}) };
}

/** Its paths lead to the FIFOs that the keeper holds open. */
function isIntact({ out, err, fds: [first, second] }: FifoPair): boolean {
  return leadsTo(out, first) && leadsTo(err, second);
}

/** The ends of a pair that a run gets. Blocking and O_RDWR: the run gets no SIGPIPE when the logger dies, and no EAGAIN. */
export function openForRun({ out, err, fds }: FifoPair): readonly [number, number] {
  const first = openEnd(out, fds[0]);
  try {
    return [first, openEnd(err, fds[1])];
  } catch (error) {
    closeSync(first);
    throw error;
  }
}

/** Opened anew, as the reader's descriptor doesn't block; by that descriptor if the folder has lost its rights. */
function openEnd(path: string, reader: number): number {
  return openWithFallback(path, process.platform === "linux" ? `/proc/self/fd/${reader}` : undefined, constants.O_RDWR);
}

function exists({ out, err }: FifoPaths): boolean {
  return existsSync(out) && existsSync(err);
}

/** Whether a process writes to one of these files. */
function isSameFifo(held: FifoPaths, { out, err }: FifoPaths): boolean {
  return isSameFile(held.out, out) || isSameFile(held.err, err);
}

/** The path is looked at first: most processes have other files there. */
function isSameFile(held: string, path: string): boolean {
  if (!linkIfSeen(held).endsWith(`/${basename(path)}`)) return false;
  const one = statIfSeen(held);
  const other = statIfSeen(path);
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** Number of the pair that it writes to; undefined: none. The folder isn't compared: a link that leads to it may have been switched. */
function numberOf(pid: number): number | undefined {
  const held = heldBy(pid);
  const [out, err] = [held.out, held.err].map((path) => FIFO.exec(linkIfSeen(path)));
  return out?.[2] === "out" && err?.[2] === "err" && out[1] === err[1] ? Number(out[1]) : undefined;
}

/** The FIFOs of runs that a process has open, by their present paths; none if it has ended or belongs to another user. Linux only. */
export function fifosHeldBy(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).flatMap((fd) => FIFO.exec(linkIfSeen(join(folder, fd)))?.input ?? []);
  } catch (error) {
    if (["ENOENT", "ESRCH", "EACCES"].includes(errnoOf(error))) return [];
    throw error;
  }
}

function heldBy(pid: number): FifoPaths {
  return outputsOf(writerOf(pid));
}

/** The process that has the FIFOs of a run: its leader, or what holds its terminal. */
export function writerOf(leader: number): number {
  return terminalHolder(leader) ?? leader;
}

function outputsOf(pid: number): FifoPaths {
  return { out: `/proc/${pid}/fd/1`, err: `/proc/${pid}/fd/2` };
}

function openPair(number: number, { out, err }: FifoPaths): FifoPair {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  const first = openSync(out, flags);
  try {
    return { number, out, err, fds: [first, openSync(err, flags)] };
  } catch (error) {
    closeSync(first);
    throw error;
  }
}

function close({ fds }: FifoPair): void {
  for (const fd of fds) closeSync(fd);
}

/** Rejects with the message of `mkfifo`, or with the error that kept it from starting. */
function mkfifo(cwd: string, names: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile("mkfifo", [...MODE, ...names], { cwd }, (error, _stdout, stderr) => {
      if (error === null) resolve();
      else if (error.code === "ENOENT" && existsSync(cwd))
        reject(new Error('the program "mkfifo" is not in PATH; install coreutils'));
      else reject(typeof error.code === "string" ? error : new Error(stderr.split("\n")[0] || error.message));
    });
  });
}
