/** `pidFile`: has the pid while the process runs, and is removed afterwards. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ProcessSpec } from "../../config/spec.ts";
import { makeFolder } from "../../os/files.ts";
import { initial, type SlotState } from "../../supervisor/states.ts";
import { type LogLine, warn } from "../reporting/lifecycle-messages.ts";
import type { ProcessBus } from "../reporting/process-bus.ts";
import type { Subsystem } from "../subsystem.ts";

export type PidFilePorts = {
  readonly bus: ProcessBus;
  /** Of the configuration. */
  readonly specs: () => readonly ProcessSpec[];
  readonly statesOf: (id: string) => readonly SlotState[];
  readonly log: { readonly write: (slot: string, line: LogLine) => void };
};

export class PidFiles implements Subsystem {
  readonly #ports: PidFilePorts;

  constructor(ports: PidFilePorts) {
    this.#ports = ports;
    ports.bus.transitions.listen(({ spec: { pidFile }, transition: { slot, from, to } }) => {
      if (pidFile !== undefined) this.#report(slot, updatePidFile(pidFile, from, to));
    });
  }

  apply(): void {
    for (const { id, pidFile } of this.#ports.specs()) this.#report(id, restorePidFile(pidFile, this.#ports.statesOf(id)));
  }

  #report(slot: string, problem: string | undefined): void {
    if (problem !== undefined) this.#ports.log.write(slot, warn(problem));
  }
}

/** @returns what went wrong, for the log: a pid file that can't be written stops no process. */
function updatePidFile(path: string, from: SlotState, to: SlotState): string | undefined {
  const [before, now] = [pidOf(from), pidOf(to)];
  if (before === now) return undefined;
  try {
    if (now === undefined) rmSync(path, { force: true });
    else write(path, now);
    return undefined;
  } catch (error) {
    return `Cannot write its pid file: ${(error as Error).message}`;
  }
}

/** A service that was killed during a start may not have written the pid file. */
function restorePidFile(path: string | undefined, states: readonly SlotState[]): string | undefined {
  const state = states.find(({ status }) => status === "running");
  return path === undefined || state === undefined ? undefined : updatePidFile(path, initial, state);
}

export function removePidFile(path: string): void {
  rmSync(path, { force: true });
}

/** Renamed into place, so readers never see a partial file. */
function write(path: string, pid: number): void {
  makeFolder(dirname(path), 0o755);
  writeFileSync(`${path}.tmp`, `${pid}\n`);
  renameSync(`${path}.tmp`, path);
}

function pidOf(state: SlotState): number | undefined {
  if (state.status === "stopping" && "ending" in state) return undefined;
  return "pid" in state ? state.pid : undefined;
}
