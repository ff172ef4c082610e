/** Probes runs for readiness, then for health, and reports to the supervisor: one probe session for each run that needs it. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { inheritedVariables } from "../../base/inherited-variables.ts";
import { printableOutput } from "../../base/printable.ts";
import { shellArgv } from "../../config/executed-command.ts";
import { inheritanceOf } from "../../config/inheritance.ts";
import { variablesIfThere } from "../../config/run-variables.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { HealthSpec, ReadyProbe } from "../../contract/probe-spec.ts";
import { followLogs } from "../../log-store/follow.ts";
import { listensOn } from "../../os/port-owner.ts";
import type { ExecContext } from "../../probes/exec-probe.ts";
import { Health } from "../../probes/health.ts";
import { Readiness } from "../../probes/readiness.ts";
import { isRefused } from "../../probes/socket-probe.ts";
import { minUptimeOf } from "../../supervisor/restart-policy.ts";
import type { RunningState, SlotState } from "../../supervisor/states.ts";
import { isRunning } from "../../supervisor/verdict.ts";
import type { ProcessStatsCache } from "../reporting/process-stats-cache.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import { systemClock } from "../system-clock.ts";
import { type ApiAccess, environmentOf } from "./environment.ts";
import { objectionTo } from "./port-conflicts.ts";
import { credentialsOf, userVariables } from "./run-identity.ts";

/** Time that a run may take to listen before its other ports are of interest. Milliseconds. */
const PORTS_MS = 500;

type ProbeQuestion = { readonly ready: ReadyProbe } | { readonly health: HealthSpec };

type ProbeSession = { readonly run: number; readonly question: ProbeQuestion; readonly stop: () => void };

type ProbeRequest = { readonly slot: string; readonly state: RunningState; readonly spec: ProcessSpec };

export class Probes implements Subsystem {
  readonly #services: Pick<Services, "specs" | "supervisor">;
  readonly #stats: Pick<ProcessStatsCache, "setProblem">;
  readonly #sessions = new Map<string, ProbeSession>();

  constructor(services: Pick<Services, "bus" | "specs" | "supervisor">, stats: Pick<ProcessStatsCache, "setProblem">) {
    this.#services = services;
    this.#stats = stats;
    services.bus.transitions.listen(({ transition: { slot, to } }) => this.#update(slot, to));
  }

  apply(): void {
    for (const { id } of this.#services.specs.config.processes)
      for (const { slot, state } of this.#services.supervisor.find(id).runs) this.#update(slot, state);
  }

  retire(): void {
    for (const { stop } of this.#sessions.values()) stop();
    this.#sessions.clear();
  }

  /** Starts, keeps or ends the session of a slot, by its state and specification. */
  #update(slot: string, state: SlotState): void {
    const spec = this.#services.specs.of(slot);
    const known = this.#sessions.get(slot);
    const question = questionOf(state, spec);
    if (known !== undefined && known.run === state.run && isDeepStrictEqual(known.question, question)) return;
    known?.stop();
    this.#sessions.delete(slot);
    if (question === undefined || !isRunning(state)) return;
    const session = this.#begin(question, { slot, state, spec });
    this.#sessions.set(slot, { run: state.run, question, stop: () => session.stop() });
  }

  #begin(question: ProbeQuestion, request: ProbeRequest): { readonly stop: () => void } {
    return "ready" in question
      ? this.#beginReadiness(question.ready, request)
      : this.#beginHealth(question.health, request);
  }

  #beginReadiness(probe: ReadyProbe, { slot, state, spec }: ProbeRequest): Readiness {
    const { specs, supervisor } = this.#services;
    const { id, policy } = spec;
    const { run, since } = state;
    const withPorts = portHint(state.pid);
    return new Readiness(
      {
        probe,
        timeoutMs: policy.readyMs ?? 0,
        context: execContextOf(spec, specs.config),
        file: notifyFile(specs.config.stateDir, slot),
        objection: objectionTo(probe, spec, state.pid),
        lines: (signal) =>
          linesOf(
            specs.config.stateDir,
            { spec, run, from: systemClock.wall() - Math.ceil(systemClock.now() - since) },
            signal,
          ),
      },
      {
        ready: () => {
          this.#stats.setProblem(id, undefined);
          supervisor.find(id).report(slot, { type: "ready", run });
        },
        waits: (problem) => this.#stats.setProblem(id, withPorts(problem)),
      },
    );
  }

  #beginHealth(health: HealthSpec, { slot, state: { run, pid, since, healthy }, spec }: ProbeRequest): Health {
    const { specs, supervisor } = this.#services;
    const { id, policy } = spec;
    // Without a readiness check it may not listen yet.
    const startMs = policy.readyMs === undefined ? Math.max(health.startMs, minUptimeOf(policy)) : health.startMs;
    const report = (good: boolean): void => supervisor.find(id).report(slot, { type: "health", run, good });
    const withPorts = portHint(pid);
    return new Health(
      {
        spec: health,
        objection: objectionTo(health.probe, spec, pid),
        context: execContextOf(spec, specs.config),
        // No start time if an earlier service has probed it.
        startMs: healthy === undefined ? since + startMs - systemClock.now() : 0,
        phase: systemClock.chance(),
      },
      {
        well: () => {
          this.#stats.setProblem(id, undefined);
          report(true);
        },
        ill: (problem, counts) => {
          this.#stats.setProblem(id, withPorts(problem));
          if (counts) report(false);
        },
      },
    );
  }
}

/** Adds the ports on which the run listens to the problem that its port refuses connections. Looks from time to time, as that takes some milliseconds. */
function portHint(pid: number): (problem: string) => string {
  let next = systemClock.now() + PORTS_MS;
  let text = "";
  return (problem) => {
    if (!isRefused(problem)) return problem;
    if (systemClock.now() >= next) {
      const ports = listensOn(pid);
      next = systemClock.now() + 10 * PORTS_MS;
      text = ports.length === 0 ? "" : `; it listens on ${ports.join(", ")}`;
    }
    return `${problem}${text}`;
  };
}

/** The probe that the run needs now. */
function questionOf(state: SlotState, { ready, health }: ProcessSpec): ProbeQuestion | undefined {
  if (!isRunning(state)) return undefined;
  if (!state.ready) return ready === undefined ? undefined : { ready };
  return health === undefined ? undefined : { health };
}

/** File behind the descriptor by which a run says that it is ready. It outlives keeper and service. */
export function notifyFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `ready-${slot}`);
}

/** Context of the process itself, but without the run's marker, by which the sweep finds its processes. Without `api`, the command can't reach the API. */
export function execContextOf(
  spec: ProcessSpec,
  config: Config,
  api?: ApiAccess,
  variables = variablesIfThere(spec),
): ExecContext {
  const { cwd, path, pathFirst = [], id, cluster, port } = spec;
  const env = { ...userVariables(spec), ...variables };
  const { PROCMAN_RUN_ID: _none, ...own } = environmentOf({
    env,
    cwd,
    path,
    pathFirst,
    id,
    marker: "",
    stateDir: config.stateDir,
    ...(cluster && { cluster }),
    ...(port !== undefined && { port }),
    ...(api && { api }),
  });
  return {
    cwd,
    env: { ...inheritedVariables(process.env, inheritanceOf(spec, config)), ...own },
    argv: shellArgv,
    as: credentialsOf(spec),
  };
}

type ProbeSubject = { readonly spec: ProcessSpec; readonly run: number; readonly from: number };

/** What a run has printed; of a terminal without colors and carriage returns. */
async function* linesOf(
  stateDir: string,
  { spec: { id, tty }, run, from }: ProbeSubject,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const query = { processes: [id], categories: ["stdout", "stderr"], from } as const;
  for await (const item of followLogs(stateDir, query, signal))
    if (item.type === "entry" && item.entry.run === run)
      yield tty === true ? printableOutput(item.entry.text, false) : item.entry.text;
}
