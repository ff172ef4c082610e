/** `--exit-with ID` and `--once`: when this process is over, or all that have started, procman stops everything and ends with the exit code. */
import { EXIT } from "../../base/errors.ts";
import { isNamed, type RunSelection } from "../../config/run-selection.ts";
import { signalCode } from "../../os/signal-name.ts";
import { isAboutEnd } from "../../supervisor/definition.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ExitInfo, SlotState } from "../../supervisor/states.ts";
import { hasFinished, isAsleep, isIdle, wasStopped } from "../../supervisor/verdict.ts";
import type { Specs } from "../services.ts";

export type EndOptions = Pick<RunSelection, "exitWith" | "once">;

/** undefined: procman doesn't end by itself. */
export function exitWithOf({ exitWith, once = false }: EndOptions, specs: Pick<Specs, "of">): ExitWith | undefined {
  return exitWith === undefined && !once ? undefined : new ExitWith(exitWith, specs);
}

type WatchedProcess = Pick<Process, "id" | "states"> & Partial<Pick<Process, "isDisabled">>;

export class ExitWith {
  readonly #id: string | undefined;
  readonly #specs: Pick<Specs, "of">;

  /** `id`: a process, an instance or a cluster; undefined: all that start with procman. */
  constructor(id: string | undefined, specs: Pick<Specs, "of">) {
    this.#id = id;
    this.#specs = specs;
  }

  /** Why procman ends. */
  get reason(): string {
    return this.#id === undefined ? "everything has run once" : `"${this.#id}" is over`;
  }

  /** Processes that others need running or ready, and none finished: they are stopped when the others are over. Only if all are awaited. */
  #helpersOf(members: readonly WatchedProcess[]): ReadonlySet<string> {
    if (this.#id !== undefined) return new Set();
    const needed = members.flatMap(({ id }) => this.#specs.of(id).dependsOn ?? []);
    const idsOf = (mayRun: boolean): readonly string[] =>
      needed.filter(({ condition }) => isAboutEnd(condition) !== mayRun).flatMap((dependency) => dependency.members);
    const jobs = new Set(idsOf(false));
    return new Set(idsOf(true).filter((id) => !jobs.has(id)));
  }

  #membersIn(processes: readonly WatchedProcess[]): readonly WatchedProcess[] {
    const id = this.#id;
    return processes.filter((process) => {
      const spec = this.#specs.of(process.id);
      return id === undefined ? spec.autostart && process.isDisabled !== true : isNamed(id, spec);
    });
  }

  /** The exit code once the process is over; undefined before. */
  finalCode(
    processes: readonly WatchedProcess[],
    isSkipped: (id: string) => boolean = () => false,
  ): number | undefined {
    const members = this.#membersIn(processes);
    const helpers = this.#helpersOf(members);
    const isDone = (member: WatchedProcess): boolean => isOver(member) || isSkipped(member.id);
    if (members.length === 0 || !members.every((member) => isDone(member) || helpers.has(member.id))) return undefined;
    return exitCodeOf(members.filter(isDone), this.#codeOf);
  }

  /** The exit code by the present states, also while it runs. */
  currentCode(processes: readonly WatchedProcess[]): number {
    return exitCodeOf(this.#membersIn(processes), this.#codeOf);
  }

  /** One process: its own exit code. All: codes that count as success become 0. */
  get #codeOf(): (state: SlotState) => number {
    return this.#id === undefined ? (state) => (hasFinished(state) ? 0 : exitCodeOfState(state)) : exitCodeOfState;
  }
}

/** True if it has run, or was stopped before, and neither its policy nor a client starts it again. */
function isOver({ states }: WatchedProcess): boolean {
  return states.every(isIdle) && states.some(hasEnded) && !states.some(isAsleep);
}

function hasEnded(state: SlotState): boolean {
  return state.run > 0 || wasStopped(state);
}

/** The first code of a run that is not 0. A process that never ran counts as 0, one that can't run any more as 1. */
function exitCodeOf(processes: readonly WatchedProcess[], codeOf: (state: SlotState) => number): number {
  const states = processes
    .flatMap((process) => process.states)
    .toSorted((one, other) => Number(isIdle(other)) - Number(isIdle(one)));
  return states.map(codeOf).find((code) => code !== 0) ?? 0;
}

function exitCodeOfState(state: SlotState): number {
  if (!isIdle(state)) return EXIT.refused;
  return "ending" in state.outcome && state.outcome.ending !== undefined ? exitCodeOfRun(state.outcome.ending) : 0;
}

function exitCodeOfRun(ending: ExitInfo): number {
  switch (ending.kind) {
    case "exited":
      return ending.code ?? signalCode(ending.signal);
    case "unstartable":
      return ending.exitCode ?? EXIT.refused;
    case "unknown":
      return EXIT.refused;
    default:
      return ending satisfies never;
  }
}
