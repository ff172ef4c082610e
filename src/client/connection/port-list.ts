/** The ports of the processes of all procmans of this user, for `procman ports`. */
import { dirname, join } from "node:path";
import { compact } from "../../core/base/compact.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { ownerOf } from "../../core/config/configured-ports.ts";
import type { DefinitionRecord } from "../../core/contract/definition-record.ts";
import { PortReservations } from "../../core/os/port-reservations.ts";
import { type RunningKeeper, runningKeepers } from "../../core/os/running-keepers.ts";
import { connectTo } from "./connect.ts";
import { PATIENCE } from "./procman-list.ts";

export type ListedPort = {
  readonly port?: number;
  /** Id of a process or an instance; of a cluster: it is its common port. */
  readonly process?: string;
  /** Absent: its procman isn't running, and the port is reserved. */
  readonly url?: string;
  /** Folder of the configuration file. */
  readonly checkout?: string;
  readonly stateDir?: string;
  /** Why a procman doesn't answer, or why it isn't known whose port it is. */
  readonly problem?: string;
};

/** Sorted by checkout, then by port. */
export async function listPorts(reservations = new PortReservations()): Promise<readonly ListedPort[]> {
  const running = (await Promise.all(runningKeepers().map(portsOf))).flat();
  const known = new Set(running.map(({ stateDir, process: id }) => JSON.stringify([stateDir, id])));
  const reserved = reservations.all.flatMap(({ port, found }): readonly ListedPort[] => {
    if (found === "damaged")
      return [{ port, problem: `${join(reservations.folder, String(port))} is damaged; remove it` }];
    const { stateDir, checkout } = found;
    const id = ownerOf(found.process);
    return known.has(JSON.stringify([stateDir, id])) ? [] : [{ port, process: id, checkout, stateDir }];
  });
  return [...running, ...reserved].sort(
    (one, other) => compare(one.checkout, other.checkout) || (one.port ?? 0) - (other.port ?? 0),
  );
}

async function portsOf({ name, stateDir, file }: RunningKeeper): Promise<readonly ListedPort[]> {
  const place = compact({ checkout: file === undefined ? undefined : dirname(file), stateDir });
  try {
    const client = await connectTo({ name, stateDir }, "cli", PATIENCE);
    const ports = new Map((await client.definitions("all")).flatMap(portsIn));
    return [...ports].map(([id, port]) => ({ port, process: id, url: `http://127.0.0.1:${port}`, ...place }));
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    return [{ ...place, problem: error.message }];
  }
}

/** Instances of a cluster name the same common port. Clients of a process that sleeps come on that, too. */
function portsIn({ process: id, cluster = id, port, commonPort }: DefinitionRecord): readonly [string, number][] {
  return [
    ...(port === undefined ? [] : [[id, port] satisfies [string, number]]),
    ...(commonPort === undefined ? [] : [[cluster, commonPort] satisfies [string, number]]),
  ];
}

function compare(one = "", other = ""): number {
  return one < other ? -1 : Number(one > other);
}
