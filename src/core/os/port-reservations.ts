/**
 * The ports that the procmans of this user have reserved, in one folder: a file for each, named by the port, which says
 * whose it is. `link` creates it atomically and complete: of several procmans that want a port, one gets it.
 */
import { existsSync, linkSync, readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { errnoOf, isNotFound } from "../base/errors.ts";
import { isObject } from "../base/schema-check.ts";
import { readWhole, removeUnfinished, writeBeside } from "./careful-files.ts";
import { makeFolder } from "./files.ts";
import { type Lock, takeLock } from "./lock.ts";

export type Reservation = {
  /** Id of a process or an instance, or of a cluster: that is its common port. */
  readonly process: string;
  readonly stateDir: string;
  /** Folder of the configuration file. When it or the state folder is gone, others may have the port. */
  readonly checkout: string;
};

/** `damaged`: its file can't be read, so that nobody knows whose it is. */
type FoundReservation = Reservation | "damaged" | undefined;

const MAX_BYTES = 64 * 1024;
/** With more files than this, those of checkouts that are gone are removed when another one is made. */
const MAX_FILES = 256;
/** To get a port that others take and release meanwhile. */
const ATTEMPTS = 3;
/** Milliseconds. */
const LOCK_PAUSE = 2;
const LOCK_PATIENCE = 2_000;

export class PortReservations {
  readonly folder: string;
  #isSwept = false;

  /** Default: the folder of this user. */
  constructor(folder: string = join(stateHome(), "procman/ports")) {
    this.folder = folder;
  }

  of(port: number): FoundReservation {
    try {
      const found: unknown = JSON.parse(readWhole(this.#fileOf(port), { maxBytes: MAX_BYTES }).toString("utf8"));
      return isReservation(found) ? found : "damaged";
    } catch (error) {
      return isNotFound(error) ? undefined : "damaged";
    }
  }

  /** All but those of checkouts that are gone, lowest port first. */
  get all(): readonly { readonly port: number; readonly found: Exclude<FoundReservation, undefined> }[] {
    return this.#ports().flatMap((port) => {
      const found = this.of(port);
      return found === undefined || (found !== "damaged" && isGone(found)) ? [] : [{ port, found }];
    });
  }

  /** Whether `own` may have the port: it is free, its own, or that of a checkout that is gone. */
  isFor(port: number, own: Reservation): boolean {
    const found = this.of(port);
    return found === undefined || (found !== "damaged" && (isSame(found, own) || isGone(found)));
  }

  /** Whether it is reserved for `own`. */
  has(port: number, own: Reservation): boolean {
    const found = this.of(port);
    return found !== undefined && found !== "damaged" && isSame(found, own);
  }

  /** False: it belongs to another process or checkout. @throws errors of the file system */
  reserve(port: number, own: Reservation): boolean {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found = this.of(port);
      if (found === "damaged") return false;
      if (found !== undefined && isSame(found, own)) return true;
      if (found !== undefined && !(isGone(found) && this.#remove([port], isGone))) return false;
      if (this.#create(port, own)) return true;
    }
    return false;
  }

  /** Others may have the ports, as far as they are reserved for this state folder. @throws errors of the file system */
  release(ports: readonly number[], stateDir: string): void {
    if (ports.length > 0) this.#remove(ports, (found) => found.stateDir === stateDir);
  }

  #create(port: number, own: Reservation): boolean {
    makeFolder(this.folder, 0o700);
    const unfinished = writeBeside(join(this.folder, "reserved"), JSON.stringify(own));
    try {
      linkSync(unfinished, this.#fileOf(port));
    } catch (error) {
      if (errnoOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      rmSync(unfinished, { force: true });
    }
    this.#sweep();
    return true;
  }

  /**
   * Removes those that may go, under a lock: a file that was read may be replaced before it is removed. False: one has
   * to stay, or another procman has the lock for too long.
   */
  #remove(ports: readonly number[], mayGo: (found: Reservation) => boolean): boolean {
    const lock = this.#lock();
    try {
      if (lock === undefined) return false;
      const going = ports.filter((port) => {
        const found = this.of(port);
        return found !== undefined && found !== "damaged" && mayGo(found);
      });
      for (const port of going) rmSync(this.#fileOf(port), { force: true });
      return ports.every((port) => going.includes(port) || this.of(port) === undefined);
    } finally {
      lock?.release();
    }
  }

  /** A checkout that was removed leaves its files, and a killed procman one that isn't linked. */
  #sweep(): void {
    if (this.#isSwept) return;
    this.#isSwept = true;
    const ports = this.#ports();
    if (ports.length <= MAX_FILES) return;
    this.#remove(ports, isGone);
    removeUnfinished(this.folder);
  }

  #lock(): Lock | undefined {
    const end = performance.now() + LOCK_PATIENCE;
    for (;;) {
      const lock = takeLock(this.folder);
      if ("release" in lock) return lock;
      if (performance.now() > end) return undefined;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_PAUSE);
    }
  }

  #ports(): readonly number[] {
    if (!existsSync(this.folder)) return [];
    const names = readdirSync(this.folder).filter((name) => /^\d{1,5}$/.test(name));
    return names.map(Number).sort((one, other) => one - other);
  }

  #fileOf(port: number): string {
    return join(this.folder, String(port));
  }
}

/** A user without a home, as in a container, gets one that nobody can make. */
function stateHome(): string {
  const { XDG_STATE_HOME, HOME } = process.env;
  if (XDG_STATE_HOME) return XDG_STATE_HOME;
  try {
    return join(HOME || homedir(), ".local/state");
  } catch {
    return "/nonexistent";
  }
}

function isReservation(value: unknown): value is Reservation {
  if (!isObject(value)) return false;
  const { process: id, stateDir, checkout } = value;
  return [id, stateDir, checkout].every((text) => typeof text === "string");
}

function isSame(one: Reservation, other: Reservation): boolean {
  return one.stateDir === other.stateDir && one.process === other.process;
}

function isGone({ stateDir, checkout }: Reservation): boolean {
  return !existsSync(stateDir) || !existsSync(checkout);
}
