/** Starts or restarts processes when files that they watch change. */
import { fingerprint } from "../base/hash.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { type ChangedFiles, type OpenedWatcher, Watcher } from "../file-watcher/watcher.ts";
import { monotonicMs } from "../os/clock.ts";
import type { SlotState } from "../supervisor/states.ts";
import { isStarting } from "../supervisor/verdict.ts";
import { warn } from "./log-line.ts";
import type { RollingRestarts } from "./operations/rolling-restart.ts";
import type { WatchedFiles } from "./recovery/notes.ts";
import { folderOf, RestartOnChange } from "./restart-on-change.ts";
import type { Services } from "./services.ts";
import type { Subsystem } from "./subsystem.ts";

/** Processes that watch the same files share a watcher. `isOpen`: it knows all files. */
type SharedWatcher = {
  readonly specs: readonly ProcessSpec[];
  readonly watcher: Watcher;
  readonly since: number;
  isOpen: boolean;
};

export class FileWatching implements Subsystem {
  readonly #services: Pick<Services, "link" | "log" | "notes" | "specs" | "supervisor">;
  readonly #watchers = new Map<string, SharedWatcher>();
  readonly #restartOnChange: RestartOnChange;
  /** Changes, by watcher, that were reported while a process was being started: its start tells whether the run has read them. */
  readonly #early = new Map<string, readonly ChangedFiles[]>();
  #notedFiles = new Map<string, WatchedFiles>();

  constructor(
    services: Pick<Services, "bus" | "link" | "log" | "notes" | "specs" | "supervisor">,
    rollingRestarts: Pick<RollingRestarts, "onFileChange">,
  ) {
    this.#services = services;
    this.#restartOnChange = new RestartOnChange(services, rollingRestarts);
    services.bus.transitions.listen(({ transition: { from } }) => {
      if (isBeingSpawned(from)) queueMicrotask(() => this.#deliverEarly());
    });
  }

  resume(): void {
    this.#notedFiles = new Map(this.#services.notes.read(":watched"));
  }

  apply(): void {
    const groups = groupsOf(this.#config);
    const undelivered = this.#close(groups);
    const unused = [...this.#notedFiles.keys()].filter((key) => !groups.has(key));
    for (const key of unused) this.#notedFiles.delete(key);
    if (unused.length > 0) this.#remember();
    for (const [key, specs] of groups) {
      const known = this.#watchers.get(key);
      if (known === undefined) this.#open(key, specs);
      else this.#watchers.set(key, { ...known, specs });
    }
    const watching = new Set([...groups.values()].flat().map(({ id }) => id));
    for (const { specs, files } of undelivered)
      this.#restartOnChange.onChange(
        specs.filter(({ id }) => watching.has(id)),
        files,
      );
  }

  end(): void {
    this.retire();
  }

  retire(): void {
    for (const { watcher } of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
    this.#restartOnChange.close();
  }

  get #config(): Config {
    return this.#services.specs.config;
  }

  /** Closes watchers that are replaced or not needed any more. Returns the changes that they had not reported yet. */
  #close(
    groups: ReadonlyMap<string, unknown>,
  ): readonly { readonly specs: readonly ProcessSpec[]; readonly files: readonly ChangedFiles[] }[] {
    const replaced = [...this.#watchers].filter(([key]) => !groups.has(key));
    for (const [key] of replaced) this.#watchers.delete(key);
    return replaced.map(([key, { specs, watcher }]) => ({
      specs,
      files: [...this.#takeEarly(key), ...watcher.finish()],
    }));
  }

  #open(key: string, specs: readonly ProcessSpec[]): void {
    const config = this.#config;
    const { id, cluster, watch } = specs[0] as ProcessSpec;
    const folder = folderOf(config);
    const context = { folder, own: ownFiles(config) };
    const watcher = new Watcher(watch, config.watcher, context, {
      opened: (opened) => this.#onOpened(key, opened),
      changed: (files) => this.#onChange(key, files),
      warn: (text) => this.#services.log.write(cluster?.id ?? id, warn(`watch: ${text.replaceAll(`${folder}/`, "")}`)),
    });
    this.#watchers.set(key, { specs, watcher, since: Date.now(), isOpen: false });
    watcher.open();
  }

  /** Finds changes from before the watcher was open: while no service ran, or during the first scan. */
  #onOpened(key: string, { fingerprint: now, newest }: OpenedWatcher): void {
    const shared = this.#watchers.get(key);
    if (shared === undefined) return;
    shared.isOpen = true;
    const noted = this.#notedFiles.get(key);
    const before = noted?.at ?? shared.since;
    const isNewer = newest !== undefined && newest.at > before;
    const isChanged = noted === undefined ? isNewer : noted.fingerprint !== now;
    if (isChanged)
      this.#onChange(key, [{ file: isNewer ? newest.file : (shared.specs[0]?.watch[0] ?? ""), at: monotonicMs() }]);
    else if (noted === undefined) this.#note(key, shared);
    this.#services.link.flush();
  }

  #onChange(key: string, files: readonly ChangedFiles[]): void {
    const shared = this.#watchers.get(key);
    if (shared === undefined) return;
    if (
      this.#services.supervisor.processes.some(
        ({ id, states }) => states.some(isBeingSpawned) && shared.specs.some((spec) => spec.id === id),
      )
    )
      return void this.#early.set(key, [...this.#takeEarly(key), ...files]);
    this.#restartOnChange.onChange(shared.specs, files);
    // The fingerprint is only useful once all files are known.
    if (shared.isOpen) this.#note(key, shared);
    this.#services.link.flush();
  }

  #deliverEarly(): void {
    for (const key of [...this.#early.keys()]) this.#onChange(key, this.#takeEarly(key));
  }

  #takeEarly(key: string): readonly ChangedFiles[] {
    const files = this.#early.get(key) ?? [];
    this.#early.delete(key);
    return files;
  }

  #note(key: string, { watcher }: SharedWatcher): void {
    this.#notedFiles.set(key, { fingerprint: watcher.fingerprint, at: Date.now() });
    this.#remember();
  }

  /** Sent with the commands of the same turn: if the service is killed before, the next one finds the change again. */
  #remember(): void {
    if (this.#notedFiles.size === 0) this.#services.notes.remove(":watched");
    else this.#services.notes.write(":watched", this.#notedFiles);
  }
}

function isBeingSpawned(state: SlotState): boolean {
  return isStarting(state) && state.hookSince === undefined;
}

/** Processes by what they watch: paths, settings and ignored files. */
function groupsOf(config: Config): ReadonlyMap<string, readonly ProcessSpec[]> {
  const groups = new Map<string, ProcessSpec[]>();
  const context = JSON.stringify([config.watcher, folderOf(config), ownFiles(config)]);
  for (const spec of config.processes) {
    if (spec.watch.length === 0) continue;
    const key = fingerprint(JSON.stringify(spec.watch) + context);
    groups.set(key, [...(groups.get(key) ?? []), spec]);
  }
  return groups;
}

/** Files that procman itself writes. */
function ownFiles({ stateDir, processes }: Config): readonly string[] {
  return [
    stateDir,
    ...new Set(processes.flatMap(({ pidFile, log: { stdout, stderr } }) => [pidFile, stdout, stderr])),
  ].filter((file) => file !== undefined);
}
