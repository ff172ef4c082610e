/** `"auto"`: procman chooses a free port, which stays with checkout and id as long as it is free. `ports.json` of the state folder keeps it. */
import { join } from "node:path";
import { errnoOf, ProcmanError, reasonOf } from "../base/errors.ts";
import { fingerprint } from "../base/hash.ts";
import { isObject } from "../base/schema-check.ts";
import { readWhole, writeWhole } from "../os/careful-files.ts";
import { busyPorts } from "../os/listening-ports.ts";
import { holderOf } from "../os/lock.ts";
import { holderBeside } from "../os/port-owner.ts";
import { PortReservations, type Reservation } from "../os/port-reservations.ts";
import { isOfProcman } from "../os/running-keepers.ts";
import { makeStateFolder } from "../os/state-folder.ts";
import { ownerOf, type PortField, type PortRange } from "./configured-ports.ts";
import { type Finding, show } from "./problems.ts";

/** What is to be chosen for a configuration. */
export type PortScope = {
  readonly wishes: readonly PortField[];
  /** Ports that the file gives by number. */
  readonly fixed: ReadonlySet<number>;
  readonly range: PortRange;
  readonly stateDir: string;
  /** Folder of the file. */
  readonly checkout: string;
};

export type ChosenPorts = {
  /** By id. One for each wish. */
  readonly ports: ReadonlyMap<string, number>;
  /** Ports that could not stay, and ports that could not be kept. */
  readonly warnings: readonly Finding[];
  /** Wishes for which no port is left. */
  readonly missing: readonly Finding[];
};

export type PortChoice = (scope: PortScope) => ChosenPorts;

/** What is asked of the machine; tests have their own. */
export type PortMachine = {
  readonly reservations: PortReservations;
  readonly busy: () => ReadonlySet<number>;
  /** The program that has the port; undefined: it is of this procman, or has ended. */
  readonly holder: (port: number, stateDir: string) => string | undefined;
};

const FILE = "ports.json";

/** Ids whose ports stay, even if another program listens there: they run. `all`: it isn't known what runs. `none`: procman starts. */
type InUse = ReadonlySet<string> | "all" | "none";

/** Changes nothing: the port that a wish has, or would probably get. */
export function likelyPorts(
  scope: PortScope,
  inUse = inUseIn(scope.stateDir),
  machine: PortMachine = thisMachine(),
): ChosenPorts {
  const { reservations } = machine;
  const look = new MachineLook(machine);
  return choose(scope, keptIn(scope.stateDir), {
    whyLost: (port, own) => {
      if (isIn(inUse, own)) return undefined;
      return look.whyBusy(port, own) ?? (reservations.isFor(port, own) ? undefined : reservedText(reservations, port));
    },
    take: (port, own) => look.isFree(port, own) && reservations.isFor(port, own),
  });
}

/** A second procman that is started there is refused later. */
function inUseIn(stateDir: string): InUse {
  return holderOf(stateDir) === undefined ? "none" : "all";
}

function isIn(inUse: InUse, { process: id }: Reservation): boolean {
  return inUse === "all" || (inUse !== "none" && inUse.has(id));
}

/**
 * Reserves the ports, and keeps them. A kept port that is no longer free is replaced, unless it is in use.
 *
 * @throws {ProcmanError} `state-folder`
 */
export function reservedPorts(
  scope: PortScope,
  inUse = inUseIn(scope.stateDir),
  machine: PortMachine = thisMachine(),
): ChosenPorts {
  const { stateDir } = scope;
  const { reservations } = machine;
  const writes = new Writes();
  const kept = keptIn(stateDir);
  const added: number[] = [];
  const release = (ports: readonly number[]): void =>
    writes.attempt(() => reservations.release(ports, stateDir), undefined);
  writes.attempt(() => makeStateFolder(stateDir), undefined);
  const chosen = choose(scope, kept, reserving({ machine, inUse, writes, added }));
  if (chosen.missing.length > 0) {
    // Two that each have half of a range would both wait for the other half.
    release(added);
    return chosen;
  }
  // Later a reload may fail, and what it has removed comes back.
  const now = new Map([...(inUse === "none" ? [] : kept), ...chosen.ports]);
  release([...kept].filter(([id, port]) => now.get(id) !== port).map(([, port]) => port));
  writes.attempt(() => keep(stateDir, kept, now), undefined);
  const warnings = writes.problem === undefined ? [] : [unkept(scope, reservations.folder, writes.problem)];
  return { ...chosen, warnings: [...chosen.warnings, ...warnings] };
}

type Reserving = {
  readonly machine: PortMachine;
  readonly inUse: InUse;
  readonly writes: Writes;
  /** Gets the ports that are chosen now. */
  readonly added: number[];
};

function reserving({ machine, inUse, writes, added }: Reserving): Taking {
  const { reservations } = machine;
  const look = new MachineLook(machine);
  const reserve = (port: number, own: Reservation): boolean =>
    writes.attempt(() => reservations.reserve(port, own), true);
  return {
    whyLost: (port, own) => {
      const stays = isIn(inUse, own);
      const why = stays ? undefined : look.whyBusy(port, own);
      return why ?? (reserve(port, own) || stays ? undefined : reservedText(reservations, port));
    },
    take: (port, own) => {
      const isTaken = look.isFree(port, own) && reserve(port, own);
      if (isTaken) added.push(port);
      return isTaken;
    },
  };
}

/** What a full disk or missing rights may refuse: procman runs without it. */
class Writes {
  problem: string | undefined;

  attempt<T>(act: () => T, otherwise: T): T {
    try {
      return act();
    } catch (error) {
      if (error instanceof ProcmanError || errnoOf(error) === "UNKNOWN") throw error;
      this.problem = reasonOf(error);
      return otherwise;
    }
  }
}

function unkept({ wishes, stateDir }: PortScope, folder: string, why: string): Finding {
  const message = `Found "auto", but ports can't be kept in ${stateDir} and reserved in ${folder} (${why}): they may be others at the next start, or those of another procman.`;
  return { path: wishes[0]?.path ?? [], message };
}

type Taking = {
  /** Why a kept port can't stay; undefined: it stays. */
  readonly whyLost: (port: number, own: Reservation) => string | undefined;
  /** Whether a new port is its own now. */
  readonly take: (port: number, own: Reservation) => boolean;
};

function choose(
  { wishes, fixed, range, stateDir, checkout }: PortScope,
  kept: ReadonlyMap<string, number>,
  { whyLost, take }: Taking,
): ChosenPorts {
  const used = new Set(fixed);
  const ports = new Map<string, number>();
  const lost = new Map<string, string>();
  const ownOf = ({ id }: PortField): Reservation => ({ process: id, stateDir, checkout });
  const give = ({ id }: PortField, port: number): void => {
    ports.set(id, port);
    used.add(port);
  };
  // First, so that no other wish gets one of these.
  for (const wish of wishes) {
    const port = kept.get(wish.id);
    if (port === undefined || port < range.from || port > range.to || used.has(port)) continue;
    const why = whyLost(port, ownOf(wish));
    if (why === undefined) give(wish, port);
    else lost.set(wish.id, `as ${port}, which it had, is ${why}`);
  }
  const warnings: Finding[] = [];
  const missing: Finding[] = [];
  for (const wish of wishes) {
    const { id, path } = wish;
    if (ports.has(id)) continue;
    const owner = ownerOf(id);
    const port = candidates(wish, range, stateDir).find((each) => !used.has(each) && take(each, ownOf(wish)));
    give(wish, port ?? range.from);
    const why = lost.get(id);
    if (port === undefined) missing.push({ path, message: nothingLeft(owner, range) });
    else if (why !== undefined)
      warnings.push({ path, message: `Found "auto": ${show(owner)} gets port ${port}, ${why}.` });
  }
  return { ports, warnings, missing };
}

function nothingLeft(id: string, { from, to }: PortRange): string {
  return `Found "auto", but no port from ${from} to ${to} is left for ${show(id)}: each is in use, or reserved ("procman ports" shows for whom). Give "portRange" more ports.`;
}

/** All ports of the range, from one on that depends on checkout and id alone. */
function candidates({ process: id, index }: PortField, { from, to }: PortRange, stateDir: string): readonly number[] {
  const size = to - from + 1;
  const first = Number.parseInt(fingerprint(`${stateDir}\0${id}`), 36) + index;
  return Array.from({ length: size }, (_, step) => from + ((first + step) % size));
}

/** One look at the listening sockets, and only if it is needed. */
class MachineLook {
  readonly #machine: PortMachine;
  #busy: ReadonlySet<number> | undefined;

  constructor(machine: PortMachine) {
    this.#machine = machine;
  }

  /** A port in use may be its own, though `ports.json` is lost. */
  isFree(port: number, own: Reservation): boolean {
    return !this.#isBusy(port) || (this.#machine.reservations.has(port, own) && this.whyBusy(port, own) === undefined);
  }

  /** undefined: nothing listens there, or a process of this procman. */
  whyBusy(port: number, { stateDir }: Reservation): string | undefined {
    const by = this.#isBusy(port) ? this.#machine.holder(port, stateDir) : undefined;
    return by === undefined ? undefined : `in use by ${by}`;
  }

  #isBusy(port: number): boolean {
    this.#busy ??= this.#machine.busy();
    return this.#busy.has(port);
  }
}

function reservedText(reservations: PortReservations, port: number): string {
  const found = reservations.of(port);
  if (found === "damaged") return `reserved by ${join(reservations.folder, String(port))}, which is damaged`;
  return found === undefined ? "reserved" : `reserved for ${show(ownerOf(found.process))} in ${found.checkout}`;
}

/** Without the file, or with a damaged one, ports are chosen again: the same, unless others have them. */
function keptIn(stateDir: string): ReadonlyMap<string, number> {
  try {
    const found: unknown = JSON.parse(readWhole(join(stateDir, FILE)).toString("utf8"));
    return new Map(Object.entries(isObject(found) ? found : {}).filter(isKept));
  } catch {
    return new Map();
  }
}

function isKept(entry: readonly [string, unknown]): entry is [string, number] {
  return Number.isInteger(entry[1]);
}

function keep(stateDir: string, before: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): void {
  const isSame = before.size === now.size && [...now].every(([id, port]) => before.get(id) === port);
  if (!isSame) writeWhole(join(stateDir, FILE), `${JSON.stringify(Object.fromEntries(now))}\n`);
}

function thisMachine(): PortMachine {
  return {
    reservations: new PortReservations(),
    busy: busyPorts,
    holder: (port, stateDir) =>
      process.platform === "linux" ? holderBeside(port, (pid) => isOfProcman(pid, stateDir))?.by : "another program",
  };
}
