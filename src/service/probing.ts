/** Asks runs whether they are ready, and then whether they are well, and tells the supervisor: for each run that has to show it, one who asks. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { ProcessSpec } from "../config/spec.ts";
import type { HealthSpec, ReadyProbe } from "../contract/probe.ts";
import type { Scene } from "../probes/exec.ts";
import { Health } from "../probes/health.ts";
import { Readiness } from "../probes/readiness.ts";
import { systemClock } from "../runtime/clock.ts";
import { shellArgv } from "../runtime/command.ts";
import { environmentOf } from "../runtime/environment.ts";
import { Unlaunchable, variablesOf } from "../runtime/variables.ts";
import { followLogs } from "../store/follow.ts";
import type { Instance, Running } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { identityOf, runsAs } from "./identity.ts";
import { strangerAt } from "./occupied.ts";

/** Whose runs these are. */
export type Probed = {
  readonly config: { readonly stateDir: string };
  readonly supervisor: Pick<Supervisor, "find">;
  readonly spec: (slot: string) => ProcessSpec;
  readonly observatory: { readonly trouble: (id: string, problem: string | undefined) => void };
};

type Question = { readonly ready: ReadyProbe } | { readonly health: HealthSpec };

type Session = { readonly run: number; readonly question: Question; readonly stop: () => void };

type Asked = { readonly slot: string; readonly state: Running; readonly spec: ProcessSpec };

export class Probing {
  readonly #probed: Probed;
  readonly #sessions = new Map<string, Session>();

  constructor(probed: Probed) {
    this.#probed = probed;
  }

  /** The state of a slot, or what is asked of it, may be another one. */
  look(slot: string, state: Instance): void {
    const spec = this.#probed.spec(slot);
    const known = this.#sessions.get(slot);
    const question = questionOf(state, spec);
    if (known !== undefined && known.run === state.run && isDeepStrictEqual(known.question, question)) return;
    known?.stop();
    this.#sessions.delete(slot);
    if (question === undefined || state.status !== "running") return;
    const session = this.#begin(question, { slot, state, spec });
    this.#sessions.set(slot, { run: state.run, question, stop: () => session.stop() });
  }

  /** Nobody asks any more. */
  stop(): void {
    for (const { stop } of this.#sessions.values()) stop();
    this.#sessions.clear();
  }

  #begin(question: Question, asked: Asked): { readonly stop: () => void } {
    return "ready" in question ? this.#beginReadiness(question.ready, asked) : this.#beginHealth(question.health, asked);
  }

  #beginReadiness(probe: ReadyProbe, { slot, state, spec }: Asked): Readiness {
    const { config, supervisor, observatory } = this.#probed;
    const { id, policy } = spec;
    const { run, since } = state;
    const { stateDir } = config;
    return new Readiness(
      {
        probe,
        timeoutMs: policy.readyMs ?? 0,
        scene: sceneOf(spec, stateDir),
        file: notifyFile(stateDir, slot),
        objection: () => strangerAt(spec, "port" in probe ? probe.port : undefined, state.pid),
        lines: (signal) => linesOf(stateDir, { id, run, from: systemClock.wall() - Math.ceil(systemClock.now() - since) }, signal),
      },
      {
        ready: () => {
          observatory.trouble(id, undefined);
          supervisor.find(id).tell(slot, { type: "ready", run });
        },
        waits: (problem) => observatory.trouble(id, problem),
      },
    );
  }

  #beginHealth(health: HealthSpec, { slot, state: { run, since, healthy }, spec }: Asked): Health {
    const { config, supervisor, observatory } = this.#probed;
    const { id } = spec;
    const tell = (good: boolean): void => supervisor.find(id).tell(slot, { type: "health", run, good });
    return new Health(
      {
        spec: health,
        scene: sceneOf(spec, config.stateDir),
        // It was asked before, by an earlier service.
        startMs: healthy === undefined ? since + health.startMs - systemClock.now() : 0,
        phase: systemClock.chance(),
      },
      {
        well: () => {
          observatory.trouble(id, undefined);
          tell(true);
        },
        ill: (problem, counts) => {
          observatory.trouble(id, problem);
          if (counts) tell(false);
        },
      },
    );
  }
}

/** What there is to find out about it. */
function questionOf(state: Instance, { ready, health }: ProcessSpec): Question | undefined {
  if (state.status !== "running") return undefined;
  if (!state.ready) return ready === undefined ? undefined : { ready };
  return health === undefined ? undefined : { health };
}

/** Its file takes what a run writes to the descriptor that says that it is ready. It outlives keeper and service. */
export function notifyFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `ready-${slot}`);
}

/** As the process itself is run, but as none of its run: whoever looks for that finds it by its marker. */
function sceneOf(spec: ProcessSpec, stateDir: string): Scene {
  const { cwd, path, id, cluster } = spec;
  const env = { ...identityOf(spec), ...variablesIfThere(spec) };
  const { PROCMAN_RUN_ID: _none, ...own } = environmentOf({ env, path, id, marker: "", stateDir, ...(cluster && { cluster }) });
  return { cwd, env: { ...process.env, ...own }, argv: shellArgv, as: runsAs(spec) };
}

type Whose = { readonly id: string; readonly run: number; readonly from: number };

async function* linesOf(stateDir: string, { id, run, from }: Whose, signal: AbortSignal): AsyncGenerator<string> {
  const query = { processes: [id], categories: ["stdout", "stderr"], from } as const;
  for await (const item of followLogs(stateDir, query, signal)) if (item.type === "entry" && item.entry.run === run) yield item.entry.text;
}

/** A file that is gone by now leaves the run as it is, and its command without what was in it. */
function variablesIfThere(spec: ProcessSpec): Record<string, string> {
  try {
    return variablesOf(spec);
  } catch (error) {
    if (error instanceof Unlaunchable) return {};
    throw error;
  }
}
