/** Starts or restarts processes when files that they watch change. */
import { fingerprint } from "../base/hash.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { type ChangedFiles, type OpenedWatcher, Watcher, type WatchView } from "../file-watcher/watcher.ts";
import { monotonicMs } from "../os/clock.ts";
import type { SlotState } from "../supervisor/states.ts";
import { isStarting } from "../supervisor/verdict.ts";
import { warn } from "./log-line.ts";
import type { RollingRestarts } from "./operations/rolling-restart.ts";
import type { WatchedFiles } from "./recovery/notes.ts";
import { folderOf, RestartOnChange } from "./restart-on-change.ts";
import type { Services } from "./services.ts";
import type { Subsystem } from "./subsystem.ts";

/** Processes that watch the same paths by the same settings. `isOpen`: all files are known. */
type SharedView = {
  readonly specs: readonly ProcessSpec[];
  /** Shared with the other views of these paths. */
  readonly watcher: Watcher;
  readonly position: number;
  /** Key of these views together. */
  readonly group: string;
  readonly since: number;
  isOpen: boolean;
};

/** Processes that watch the same paths, by the keys of their views. */
type PathGroup = {
  readonly key: string;
  readonly watch: readonly string[];
  readonly views: ReadonlyMap<string, readonly ProcessSpec[]>;
};

export class FileWatching implements Subsystem {
  readonly #services: Pick<Services, "link" | "log" | "notes" | "specs" | "supervisor">;
  readonly #views = new Map<string, SharedView>();
  readonly #restartOnChange: RestartOnChange;
  /** Changes, by view, that were reported while a process was being started: its start tells whether the run has read them. */
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
    const groupOf = new Map(groups.flatMap((group) => [...group.views.keys()].map((key) => [key, group.key] as const)));
    const undelivered = this.#close(groupOf);
    const unused = [...this.#notedFiles.keys()].filter((key) => !groupOf.has(key));
    for (const key of unused) this.#notedFiles.delete(key);
    if (unused.length > 0 || undelivered.length > 0) this.#remember();
    for (const group of groups) {
      for (const [key, specs] of group.views) {
        const known = this.#views.get(key);
        if (known !== undefined) this.#views.set(key, { ...known, specs });
      }
      if (![...group.views.keys()].every((key) => this.#views.has(key))) this.#open(group);
    }
    const watching = new Set(groups.flatMap(({ views }) => [...views.values()].flat().map(({ id }) => id)));
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
    for (const { watcher } of this.#views.values()) watcher.close();
    this.#views.clear();
    this.#restartOnChange.close();
  }

  get #config(): Config {
    return this.#services.specs.config;
  }

  /** Closes watchers that are replaced or not needed any more. Returns the changes that they had not reported yet. */
  #close(
    groupOf: ReadonlyMap<string, string>,
  ): readonly { readonly specs: readonly ProcessSpec[]; readonly files: readonly ChangedFiles[] }[] {
    const replaced = [...this.#views].filter(([key, { group }]) => groupOf.get(key) !== group);
    for (const [key] of replaced) this.#views.delete(key);
    const watchers = new Set(replaced.map(([, { watcher }]) => watcher));
    const changes = new Map([...watchers].map((watcher) => [watcher, watcher.finish()] as const));
    return replaced.map(([key, { specs, watcher, position, isOpen }]) => {
      // The next watcher finds what changes from here on.
      if (isOpen && groupOf.has(key))
        this.#notedFiles.set(key, { fingerprint: watcher.fingerprintOf(position), at: Date.now() });
      return { specs, files: [...this.#takeEarly(key), ...(changes.get(watcher)?.[position] ?? [])] };
    });
  }

  #open({ key: group, watch, views }: PathGroup): void {
    const config = this.#config;
    const folders = { folder: folderOf(config), own: ownFiles(config) };
    const ports = [...views].map(([key, specs]) => this.#viewOf(key, specs));
    const watcher = new Watcher(watch, ports, folders);
    for (const [position, [key, specs]] of [...views].entries())
      this.#views.set(key, { specs, watcher, position, group, since: Date.now(), isOpen: false });
    watcher.open();
  }

  #viewOf(key: string, specs: readonly ProcessSpec[]): WatchView {
    const { id, cluster, watcher } = specs[0] as ProcessSpec;
    const folder = folderOf(this.#config);
    return {
      settings: watcher ?? this.#config.watcher,
      opened: (opened) => this.#onOpened(key, opened),
      changed: (files) => this.#onChange(key, files),
      warn: (text) => this.#services.log.write(cluster?.id ?? id, warn(`watch: ${text.replaceAll(`${folder}/`, "")}`)),
    };
  }

  /** Finds changes from before the watcher was open: while no service ran, or during the first scan. */
  #onOpened(key: string, { fingerprint: now, newest }: OpenedWatcher): void {
    const shared = this.#views.get(key);
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
    const shared = this.#views.get(key);
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

  #note(key: string, { watcher, position }: SharedView): void {
    this.#notedFiles.set(key, { fingerprint: watcher.fingerprintOf(position), at: Date.now() });
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

/** Processes by the paths that they watch and, among them, by their settings and by ignored files. */
function groupsOf(config: Config): readonly PathGroup[] {
  const groups = new Map<string, Map<string, ProcessSpec[]>>();
  const folders = JSON.stringify([folderOf(config), ownFiles(config)]).slice(1);
  for (const spec of config.processes) {
    if (spec.watch.length === 0) continue;
    const paths = JSON.stringify(spec.watch);
    const settings = JSON.stringify(spec.watcher ?? config.watcher);
    const key = fingerprint(`${paths}[${settings},${folders}`);
    const views = groups.get(paths) ?? new Map<string, ProcessSpec[]>();
    groups.set(paths, views.set(key, [...(views.get(key) ?? []), spec]));
  }
  return [...groups].map(([paths, views]) => ({
    key: fingerprint([...views.keys()].join()),
    watch: JSON.parse(paths) as readonly string[],
    views,
  }));
}

/** Files that procman itself writes. */
function ownFiles({ stateDir, processes }: Config): readonly string[] {
  return [
    stateDir,
    ...new Set(processes.flatMap(({ pidFile, log: { stdout, stderr } }) => [pidFile, stdout, stderr])),
  ].filter((file) => file !== undefined);
}
