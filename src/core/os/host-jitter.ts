/** Numbers that differ from host to host, for work that many hosts would otherwise do at the same moment. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { sipHash } from "../base/sip-hash.ts";

const NO_KEY = "0".repeat(32);

let key: string | undefined;

/** A number in [0, 1): always the same for a name on this host, evenly spread over names and hosts. */
export function jitterFraction(name: string): number {
  key ??= machineId();
  return Number.parseInt(sipHash(key, `${hostname()} ${name}`).slice(0, 8), 16) / 2 ** 32;
}

/** Tells this machine from others without giving away its id, as machine-id(5) asks; undefined: it has none. */
export function machineMark(): string | undefined {
  key ??= machineId();
  return key === NO_KEY ? undefined : sipHash(key, "procman history");
}

/** Containers and macOS have none: there the host's name is enough. */
function machineId(): string {
  try {
    const [id] = /^[0-9a-f]{32}/.exec(readFileSync("/etc/machine-id", "latin1")) ?? [];
    return id ?? NO_KEY;
  } catch {
    return NO_KEY;
  }
}
