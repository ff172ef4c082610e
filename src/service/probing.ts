/** Asks runs whether they are ready, and tells the supervisor: for each run that has to show it, one who asks. */
import { join } from "node:path";
import type { ProcessSpec } from "../config/spec.ts";
import type { ReadyProbe } from "../contract/probe.ts";
import type { Scene } from "../probes/exec.ts";
import { Readiness } from "../probes/readiness.ts";
import { shellArgv } from "../runtime/command.ts";
import { environmentOf } from "../runtime/environment.ts";
import { followLogs } from "../store/follow.ts";
import type { Instance } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { wall } from "./records.ts";

/** Whose runs these are. */
export type Probed = {
  readonly config: { readonly stateDir: string };
  readonly supervisor: Pick<Supervisor, "find">;
  readonly spec: (slot: string) => ProcessSpec;
  readonly observatory: { readonly trouble: (id: string, problem: string | undefined) => void };
};

type Session = { readonly run: number; readonly probe: ReadyProbe; readonly stop: () => void };

export class Probing {
  readonly #probed: Probed;
  readonly #sessions = new Map<string, Session>();

  constructor(probed: Probed) {
    this.#probed = probed;
  }

  /** The state of a slot, or what is asked of it, may be another one. */
  look(slot: string, state: Instance): void {
    const { ready } = this.#probed.spec(slot);
    const known = this.#sessions.get(slot);
    const isWanted = ready !== undefined && state.status === "running" && !state.ready;
    if (known !== undefined && isWanted && known.run === state.run && known.probe === ready) return;
    known?.stop();
    this.#sessions.delete(slot);
    if (isWanted) this.#sessions.set(slot, { run: state.run, probe: ready, stop: this.#begin(slot, state, ready) });
  }

  /** Nobody asks any more. */
  stop(): void {
    for (const { stop } of this.#sessions.values()) stop();
    this.#sessions.clear();
  }

  #begin(slot: string, state: Instance & { readonly status: "running" }, probe: ReadyProbe): () => void {
    const { config, supervisor, observatory } = this.#probed;
    const spec = this.#probed.spec(slot);
    const { id, policy } = spec;
    const { run, since } = state;
    const readiness = new Readiness(
      {
        probe,
        timeoutMs: policy.readyMs ?? 0,
        scene: sceneOf(spec, config.stateDir),
        file: notifyFile(config.stateDir, slot),
        lines: (signal) => linesOf(config.stateDir, { id, run, from: Date.parse(wall(since)) }, signal),
      },
      {
        ready: () => {
          observatory.trouble(id, undefined);
          supervisor.find(id).tell(slot, { type: "ready", run });
        },
        waits: (problem) => observatory.trouble(id, problem),
      },
    );
    return () => readiness.stop();
  }
}

/** Its file takes what a run writes to the descriptor that says that it is ready. It outlives keeper and service. */
export function notifyFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `ready-${slot}`);
}

/** As the process itself is run, but as none of its run: whoever looks for that finds it by its marker. */
function sceneOf({ cwd, env, path, id, cluster }: ProcessSpec, stateDir: string): Scene {
  const { PROCMAN_RUN_ID: _none, ...own } = environmentOf({ env, path, id, marker: "", stateDir, ...(cluster && { cluster }) });
  return { cwd, env: { ...process.env, ...own }, argv: shellArgv };
}

type Whose = { readonly id: string; readonly run: number; readonly from: number };

async function* linesOf(stateDir: string, { id, run, from }: Whose, signal: AbortSignal): AsyncGenerator<string> {
  const query = { processes: [id], categories: ["stdout", "stderr"], from } as const;
  for await (const item of followLogs(stateDir, query, signal)) if (item.type === "entry" && item.entry.run === run) yield item.entry.text;
}
