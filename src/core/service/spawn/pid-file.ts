/** `pidFile`: has the pid while the process runs, and is removed afterwards. */
import { rmSync } from "node:fs";
import { isNotFound } from "../../base/errors.ts";
import { writeWhole } from "../../os/careful-files.ts";
import { type FoundFile, UnsafePathError, type WalkOptions, walkTo } from "../../os/path-walk.ts";
import { initial, type SlotState } from "../../supervisor/states.ts";
import { hasLeader } from "../../supervisor/verdict.ts";
import { warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";

export class PidFiles implements Subsystem {
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;

  constructor(services: Pick<Services, "bus" | "log" | "specs" | "supervisor">) {
    this.#services = services;
    services.bus.transitions.listen(({ id, spec: { pidFile }, transition: { slot, from, to } }) => {
      if (pidFile !== undefined)
        this.#report(slot, updatePidFile(pidFile, { from, to, others: services.supervisor.statesOf(id) }));
    });
  }

  apply(): void {
    const { specs, supervisor } = this.#services;
    for (const { id, pidFile } of specs.config.processes)
      this.#report(id, restorePidFile(pidFile, supervisor.statesOf(id)));
  }

  #report(slot: string, problem: string | undefined): void {
    if (problem !== undefined) this.#services.log.write(slot, warn(problem));
  }
}

/** `others`: of all slots of the process. */
type PidChange = { readonly from: SlotState; readonly to: SlotState; readonly others: readonly SlotState[] };

/** When a run ends, the latest run that is still there counts. @returns what went wrong, for the log: a pid file that can't be written stops no process. */
function updatePidFile(path: string, { from, to, others }: PidChange): string | undefined {
  const before = pidOf(from);
  const now = pidOf(to);
  if (before === now) return undefined;
  const pid = now ?? latestPid(others);
  try {
    if (pid === undefined) removePidFile(path);
    else write(path, pid);
    return undefined;
  } catch (error) {
    return `Cannot write its pid file: ${(error as Error).message}`;
  }
}

/** A service that was killed during a start may not have written the pid file. */
function restorePidFile(path: string | undefined, states: readonly SlotState[]): string | undefined {
  const to = latest(states);
  return path === undefined || to === undefined ? undefined : updatePidFile(path, { from: initial, to, others: [] });
}

function latestPid(states: readonly SlotState[]): number | undefined {
  const state = latest(states);
  return state === undefined ? undefined : pidOf(state);
}

/** The state of the run that was started last, of those with a process. */
function latest(states: readonly SlotState[]): SlotState | undefined {
  return states.filter((state) => pidOf(state) !== undefined).sort((one, other) => startOf(other) - startOf(one))[0];
}

function startOf(state: SlotState): number {
  return "started" in state ? state.started : "since" in state ? state.since : 0;
}

export function removePidFile(path: string): void {
  try {
    inFolderOf(path, {}, (found) => rmSync(found.entry(found.name), { force: true }));
  } catch (error) {
    // Where procman may not write, there is no file of it.
    if (!(error instanceof UnsafePathError) && !isNotFound(error)) throw error;
  }
}

/** Renamed into place, so readers never see a partial file. */
function write(path: string, pid: number): void {
  inFolderOf(path, { makeFolders: 0o755 }, (found) => writeWhole(found, `${pid}\n`, { mode: 0o644 }));
}

/** A link in the place of the file is replaced or removed, not followed. */
function inFolderOf(path: string, options: WalkOptions, act: (found: FoundFile) => void): void {
  const found = walkTo(path, { ...options, keepsLastLink: true });
  try {
    act(found);
  } finally {
    found.close();
  }
}

function pidOf(state: SlotState): number | undefined {
  return hasLeader(state) ? state.pid : undefined;
}
