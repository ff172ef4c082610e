/** `--exit-with ID`: when this process is over, procman stops everything and ends with its exit code. */
import { constants } from "node:os";
import { EXIT, ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ExitInfo, SlotState } from "../../supervisor/states.ts";

/** Shells report a program ended by a signal as this plus the signal's number. */
const SIGNAL_EXIT = 128;

/** @throws ProcmanError `usage` */
export function checkExitWith(id: string, { processes }: Pick<Config, "processes">): void {
  if (processes.some((spec) => matchesId(id, spec))) return;
  const ids = processes.flatMap((spec) => [spec.id, ...(spec.cluster === undefined ? [] : [spec.cluster.id])]);
  throw new ProcmanError(
    "usage",
    `Cannot exit with process "${id}": the configuration has no process with this id.${didYouMean(id, ids)} Correct "--exit-with"`,
  );
}

/** Why the process may never be over by itself; undefined: it can be. */
export function exitWithWarning(id: string, { processes }: Pick<Config, "processes">): string | undefined {
  const members = processes.filter((spec) => matchesId(id, spec));
  const why = members.some(({ cron }) => cron !== undefined)
    ? 'has a "cron" schedule, so procman never ends with it'
    : members.some(({ policy }) => policy.restart === "always" && policy.restartLimit === Number.POSITIVE_INFINITY)
      ? 'has "restart": "always" without "restartLimit", so procman ends with it only when it is stopped by hand; use "error" instead'
      : undefined;
  return why === undefined ? undefined : `--exit-with ${id}: it ${why}`;
}

type WatchedProcess = Pick<Process, "id" | "states" | "next">;

export class ExitWith {
  readonly #id: string;
  readonly #specOf: (id: string) => ProcessSpec;

  constructor(id: string, specOf: (id: string) => ProcessSpec) {
    this.#id = id;
    this.#specOf = specOf;
  }

  get id(): string {
    return this.#id;
  }

  /** The process itself, or the instances of the cluster. */
  membersIn<Any extends Pick<Process, "id">>(processes: readonly Any[]): readonly Any[] {
    return processes.filter(({ id }) => matchesId(this.#id, this.#specOf(id)));
  }

  /** The exit code once the process is over; undefined before. */
  finalCode(processes: readonly WatchedProcess[], isSkipped: (id: string) => boolean = () => false): number | undefined {
    const members = this.membersIn(processes);
    return members.length > 0 && members.every((member) => isOver(member) || isSkipped(member.id)) ? exitCodeOf(members) : undefined;
  }

  /** The exit code by the present states, also while it runs. */
  currentCode(processes: readonly WatchedProcess[]): number {
    return exitCodeOf(this.membersIn(processes));
  }
}

function matchesId(id: string, spec: Pick<ProcessSpec, "id" | "cluster">): boolean {
  return spec.id === id || spec.cluster?.id === id;
}

/** True if it has run, and neither its policy nor its schedule starts it again. */
function isOver(process: WatchedProcess): boolean {
  const { states } = process;
  return process.next("start") === undefined && states.every(({ status }) => status === "idle") && states.some(({ run }) => run > 0);
}

/** Of a cluster: the first code that is not 0. An instance that never ran counts as 0. */
function exitCodeOf(processes: readonly WatchedProcess[]): number {
  return processes.flatMap(({ states }) => states.map(exitCodeOfState)).find((code) => code !== 0) ?? 0;
}

function exitCodeOfState(state: SlotState): number {
  if (state.status !== "idle") return EXIT.refused;
  return "ending" in state.outcome && state.outcome.ending !== undefined ? exitCodeOfRun(state.outcome.ending) : 0;
}

function exitCodeOfRun(ending: ExitInfo): number {
  switch (ending.kind) {
    case "exited":
      return ending.code ?? SIGNAL_EXIT + (constants.signals[ending.signal as NodeJS.Signals] ?? 0);
    case "unstartable":
      return ending.exitCode ?? EXIT.refused;
    case "unknown":
      return EXIT.refused;
    default:
      return ending satisfies never;
  }
}
