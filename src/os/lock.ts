/**
 * One keeper per state folder. A lock is a file `lock.N` that names its holder; the highest N counts. It is made
 * whole and at once by `link`, so of two that find the same dead holder only one becomes the next.
 */
import { existsSync, linkSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bootId, isAlive, processStat } from "./process-stat.ts";

type Claim = { readonly pid: number; readonly startTime: string; readonly bootId: string };

/** `number`: 1, or one more than that of the holder in whose place it came. */
export type Holder = Claim & { readonly number: number };

export type Lock = {
  /** False once somebody has removed it. */
  readonly holds: () => boolean;
  readonly release: () => void;
};

/** The lock, or whoever holds it. */
export function takeLock(stateDir: string): Lock | Holder {
  for (;;) {
    const held = numbers(stateDir);
    const last = held.at(-1) ?? 0;
    const holder = holderOf(stateDir);
    if (holder !== undefined) return holder;
    const mine = join(stateDir, `lock.${last + 1}`);
    if (!create(stateDir, mine)) continue;
    // Somebody who was quicker by two steps may have cleared away what stood in our way.
    if (numbers(stateDir).at(-1) !== last + 1) {
      rmSync(mine, { force: true });
      continue;
    }
    for (const number of held) rmSync(join(stateDir, `lock.${number}`), { force: true });
    const { ino } = statSync(mine);
    return {
      holds: () => statSync(mine, { throwIfNoEntry: false })?.ino === ino,
      release: () => rmSync(mine, { force: true }),
    };
  }
}

/** Who holds the lock of this state folder; undefined: nobody who lives. */
export function holderOf(stateDir: string): Holder | undefined {
  const holder = lastIn(stateDir);
  return holder !== undefined && holder.bootId === bootId() && isAlive(holder.pid, holder.startTime) ? holder : undefined;
}

/** Whether its holder was killed, on the machine as it runs now: whoever ends in order gives it back. */
export function isAbandoned(stateDir: string): boolean {
  return lastIn(stateDir)?.bootId === bootId() && holderOf(stateDir) === undefined;
}

function lastIn(stateDir: string): Holder | undefined {
  const last = numbers(stateDir).at(-1);
  const claim = last === undefined ? undefined : read(join(stateDir, `lock.${last}`));
  return last === undefined || claim === undefined ? undefined : { ...claim, number: last };
}

function numbers(stateDir: string): readonly number[] {
  return (existsSync(stateDir) ? readdirSync(stateDir) : [])
    .flatMap((name) => (/^lock\.\d+$/.test(name) ? [Number(name.slice(5))] : []))
    .sort((a, b) => a - b);
}

function create(stateDir: string, path: string): boolean {
  const whole = join(stateDir, `lock-${process.pid}.tmp`);
  const claim: Claim = { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "", bootId: bootId() };
  writeFileSync(whole, JSON.stringify(claim), { mode: 0o600 });
  try {
    linkSync(whole, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    unlinkSync(whole);
  }
}

/** A lock that can't be read holds nothing: its writer ended before it was whole, or it has just been given back. */
function read(path: string): Claim | undefined {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Claim;
  } catch {
    return undefined;
  }
}
