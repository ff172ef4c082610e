/** `--exit-with ID`: everything ends with one process, and procman with its exit code. */
import { constants } from "node:os";
import { EXIT, ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ExitInfo, InstanceState } from "../../supervisor/states.ts";

/** A signal ends a program with this and its number, as shells have it. */
const SIGNAL_EXIT = 128;

/** @throws ProcmanError `usage` */
export function checkExitWith(id: string, { processes }: Pick<Config, "processes">): void {
  if (processes.some((spec) => matchesId(id, spec))) return;
  const ids = processes.flatMap((spec) => [spec.id, ...(spec.cluster === undefined ? [] : [spec.cluster.id])]);
  throw new ProcmanError(
    "usage",
    `Cannot exit with process "${id}": the configuration has none of this id.${didYouMean(id, ids)} Correct "--exit-with"`,
  );
}

/** What keeps that process from ever being over by itself; undefined: nothing. */
export function exitWithWarning(id: string, { processes }: Pick<Config, "processes">): string | undefined {
  const meant = processes.filter((spec) => matchesId(id, spec));
  const why = meant.some(({ cron }) => cron !== undefined)
    ? 'has a "cron" schedule, so procman never ends with it'
    : meant.some(({ policy }) => policy.restart === "always" && policy.restartLimit === Number.POSITIVE_INFINITY)
      ? 'has "restart": "always" without "restartLimit", so procman ends with it only when it is stopped by hand; "error" lets it end'
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

  /** The exit code, once it is over. */
  finalCode(processes: readonly WatchedProcess[]): number | undefined {
    const meant = this.membersIn(processes);
    return meant.length > 0 && meant.every(isOver) ? exitCodeOf(meant) : undefined;
  }

  /** The exit code as things are. */
  currentCode(processes: readonly WatchedProcess[]): number {
    return exitCodeOf(this.membersIn(processes));
  }
}

function matchesId(id: string, spec: Pick<ProcessSpec, "id" | "cluster">): boolean {
  return spec.id === id || spec.cluster?.id === id;
}

/** It has run, and nothing starts it again: neither its policy nor its schedule. */
function isOver(process: WatchedProcess): boolean {
  const { states } = process;
  return process.next("start") === undefined && states.every(({ status }) => status === "idle") && states.some(({ run }) => run > 0);
}

/** Of a cluster the first that is not 0 counts. Who never ran did nothing wrong. */
function exitCodeOf(processes: readonly WatchedProcess[]): number {
  return processes.flatMap(({ states }) => states.map(exitCodeOfState)).find((code) => code !== 0) ?? 0;
}

function exitCodeOfState(state: InstanceState): number {
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
