/** procman's own processes, with their memory. */
import { readFileSync } from "node:fs";
import { VERSION } from "../../base/version.ts";
import type { PartRecord } from "../../contract/part-record.ts";
import type { BalancerIdentity } from "../../ipc/balancer-protocol.ts";
import type { PartsMessage } from "../../ipc/keeper-protocol.ts";
import { ownMemory } from "../../os/process-usage.ts";

export class OwnParts {
  readonly #keeper: number;
  readonly #balancing: { readonly identity: BalancerIdentity | undefined };
  /** What the keeper has told; undefined: nothing so far. */
  #told: PartsMessage | undefined;

  /** `keeper`: its pid. `identity`: of the balancer; undefined while none answers. */
  constructor(keeper: number, balancing: { readonly identity: BalancerIdentity | undefined }) {
    this.#keeper = keeper;
    this.#balancing = balancing;
  }

  learn(told: PartsMessage): void {
    this.#told = told;
  }

  get records(): readonly PartRecord[] {
    const logger = this.#told?.logger;
    const balancer = this.#balancing.identity;
    return [
      recordOf("keeper", this.#keeper, this.#told?.keeper),
      recordOf("service", process.pid, VERSION),
      ...(logger === undefined ? [] : [recordOf("logger", logger.pid, logger.version)]),
      ...(balancer === undefined ? [] : [recordOf("balancer", balancer.pid, balancer.version)]),
    ];
  }
}

function recordOf(part: PartRecord["part"], pid: number, version: string | undefined): PartRecord {
  const memoryBytes = part === "balancer" ? sum([pid, ...childrenOf(pid)].map(memoryOf)) : memoryOf(pid);
  return { part, pid, ...(version !== undefined && { version }), ...(memoryBytes > 0 && { memoryBytes }) };
}

/** 0: it has ended, or the system doesn't tell it. */
function memoryOf(pid: number): number {
  return process.platform === "linux" ? ownMemory({ pid }) : 0;
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
