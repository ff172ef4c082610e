/** Foreign programs on the ports of instances: the load balancer sends nobody there while they have them. */
import type { ProcessSpec } from "../config/spec.ts";
import { type Line, warn } from "./narrator.ts";
import { strangerAt } from "./occupied.ts";

/** They may have ended; and a run that ends for them says so itself. Milliseconds. */
const AGAIN_MS = 500;

/** It runs. */
export type Guarded = { readonly spec: ProcessSpec; readonly pid: number };

export type StrangersPorts = {
  /** Some are gone, or have come. */
  readonly changed: () => void;
  readonly say: (id: string, line: Line) => void;
};

type Seen = { readonly pid: number; readonly problem: string | undefined; readonly isSaid?: boolean };

export class Strangers {
  readonly #find: (id: string) => Guarded | undefined;
  readonly #ports: StrangersPorts;
  readonly #seen = new Map<string, Seen>();
  #timer: NodeJS.Timeout | undefined;

  constructor(find: (id: string) => Guarded | undefined, ports: StrangersPorts) {
    this.#find = find;
    this.#ports = ports;
  }

  /** What is wrong with the port of this one; undefined: nothing. Each run is looked at once. */
  of(id: string): string | undefined {
    const pid = this.#find(id)?.pid;
    if (pid === undefined) this.#seen.delete(id);
    else if (this.#seen.get(id)?.pid !== pid) this.check(id);
    return this.#seen.get(id)?.problem;
  }

  /** Somebody accepts connections there: is it this one? */
  check(id: string): string | undefined {
    const found = this.#find(id);
    if (found === undefined) {
      this.#seen.delete(id);
      return undefined;
    }
    const { spec, pid } = found;
    const known = this.#seen.get(id);
    const problem = strangerAt(spec, spec.cluster?.port, pid);
    const isSame = known?.pid === pid && known.problem === problem;
    if (isSame && problem !== undefined && known.isSaid !== true) this.#ports.say(id, warn(`runs, but ${problem}`));
    this.#seen.set(id, { pid, problem, isSaid: isSame });
    if (known?.pid === pid && !isSame) this.#ports.changed();
    if (problem !== undefined) this.#arm();
    return problem;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#seen.clear();
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      for (const [id, { problem }] of this.#seen) if (problem !== undefined) this.check(id);
    }, AGAIN_MS).unref();
  }
}
