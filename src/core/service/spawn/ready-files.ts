/** Bounds the files behind the descriptors by which runs say that they are ready: a run can write to its descriptor for as long as it lives. */
import { statSync, truncateSync } from "node:fs";
import { isNotFound } from "../../base/errors.ts";
import { readyDescriptor } from "../../config/checks/probe-checks.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { SlotState } from "../../supervisor/states.ts";
import { warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import { notifyFile } from "./probing.ts";

/** A larger file is truncated. Bytes. */
const MAX_BYTES = 65_536;
/** What is left of it: an empty file means that the run has not become ready. Bytes. */
const KEPT_BYTES = 1;
/** Time between two checks; half of it, and so on to the second, while a file keeps growing. Milliseconds. */
const CHECK_MS = 1_000;
const MIN_CHECK_MS = 15;

type ReadyFile = { readonly path: string; readonly run: number; readonly fd: number; isReported: boolean };

export class ReadyFiles implements Subsystem {
  readonly #services: Pick<Services, "log" | "specs" | "supervisor">;
  /** Files of current runs, by slot. */
  readonly #files = new Map<string, ReadyFile>();
  #timer: NodeJS.Timeout | undefined;
  #delay = CHECK_MS;

  constructor(services: Pick<Services, "bus" | "log" | "specs" | "supervisor">) {
    this.#services = services;
    services.bus.transitions.listen(({ spec, transition: { slot, to } }) => this.#update(spec, slot, to));
  }

  apply(): void {
    for (const spec of this.#services.specs.config.processes)
      for (const { slot, state } of this.#services.supervisor.find(spec.id).runs) this.#update(spec, slot, state);
  }

  retire(): void {
    this.#files.clear();
  }

  #update({ ready }: ProcessSpec, slot: string, state: SlotState): void {
    const known = this.#files.get(slot);
    if (!("pid" in state)) return void this.#files.delete(slot);
    if (known?.run === state.run) return;
    const fd = ready === undefined ? undefined : readyDescriptor(ready);
    if (fd === undefined) return void this.#files.delete(slot);
    this.#files.set(slot, {
      path: notifyFile(this.#services.specs.config.stateDir, slot),
      run: state.run,
      fd,
      isReported: false,
    });
    this.#arm();
  }

  #arm(): void {
    if (this.#files.size > 0) this.#timer ??= setTimeout(() => this.#check(), this.#delay).unref();
  }

  #check(): void {
    this.#timer = undefined;
    const truncated = [...this.#files].filter(([slot, file]) => this.#bound(slot, file));
    this.#delay = truncated.length > 0 ? Math.max(MIN_CHECK_MS, this.#delay / 2) : CHECK_MS;
    this.#arm();
  }

  /** Returns whether it was too large. */
  #bound(slot: string, file: ReadyFile): boolean {
    const { path, fd } = file;
    try {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) <= MAX_BYTES) return false;
      truncateSync(path, KEPT_BYTES);
    } catch (error) {
      if (!isNotFound(error))
        this.#warn(
          slot,
          file,
          `Cannot truncate ${path}, to which it writes by descriptor ${fd}: ${(error as Error).message}`,
        );
      return false;
    }
    const limit = `${MAX_BYTES / 1_024} KiB`;
    this.#warn(
      slot,
      file,
      `writes more than ${limit} to descriptor ${fd}: only its first write counts, the rest is discarded`,
    );
    return true;
  }

  #warn(slot: string, file: ReadyFile, text: string): void {
    if (!file.isReported) this.#services.log.write(slot, warn(text));
    file.isReported = true;
  }
}
