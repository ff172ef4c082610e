/** Watches a folder of a test, and waits for reports of the watcher. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import type { TestContext } from "node:test";
import type { WatchSource } from "../../src/core/file-watcher/inotify.ts";
import type { WatchSettings } from "../../src/core/file-watcher/path-filter.ts";
import { type ChangedFiles, type OpenedWatcher, Watcher } from "../../src/core/file-watcher/watcher.ts";

/** The defaults of the specification, except for the interval. */
const DEFAULTS: WatchSettings = {
  intervalMs: 30,
  exts: ["ts", "tsx", "js", "jsx", "json"],
  match: ["**/*.*"],
  skip: ["**/.git/**"],
};

/** Time limit of a wait. Milliseconds. */
const TIMEOUT_MS = 20_000;

type RigOptions = { readonly kernel?: WatchSource; readonly own?: readonly string[] };

export class WatcherRig {
  readonly folder: string;
  readonly changes: string[][] = [];
  readonly warnings: string[] = [];
  #watcher: Watcher | undefined;
  #wake: () => void = () => undefined;

  /** `files`: exist before. */
  constructor(context: TestContext, files: readonly string[] = []) {
    this.folder = mkdtempSync(join(tmpdir(), "procman-watch-"));
    for (const file of files) this.write(file);
    context.after(() => {
      this.#watcher?.close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  async open(
    entries: readonly string[],
    settings: Partial<WatchSettings> = {},
    more: RigOptions = {},
  ): Promise<OpenedWatcher> {
    const [opened] = await this.openViews(entries, [{ settings, changes: this.changes }], more);
    return opened as OpenedWatcher;
  }

  /** A watcher with several views; `changes` gets what each reports. */
  async openViews(
    entries: readonly string[],
    views: readonly { readonly settings: Partial<WatchSettings>; readonly changes: string[][] }[],
    { kernel, own = [] }: RigOptions = {},
  ): Promise<readonly OpenedWatcher[]> {
    const paths = entries.map((entry) => this.at(entry));
    const folders = { folder: this.folder, own: own.map((path) => this.at(path)) };
    return new Promise((resolve) => {
      const opened: OpenedWatcher[] = [];
      const ports = views.map(({ settings, changes }) => ({
        settings: { ...DEFAULTS, ...settings },
        opened: (one: OpenedWatcher) => {
          if (opened.push(one) === views.length) resolve(opened);
        },
        changed: (files: readonly ChangedFiles[]) => {
          changes.push(files.map(({ file }) => relative(this.folder, file)));
          this.#wake();
        },
        warn: (text: string) => {
          this.warnings.push(text.replaceAll(`${this.folder}/`, ""));
          this.#wake();
        },
      }));
      this.#watcher = new Watcher(paths, ports, folders, kernel);
      this.#watcher.open();
    });
  }

  get fingerprint(): number {
    return this.fingerprintOf(0);
  }

  fingerprintOf(position: number): number {
    return this.#watcher?.fingerprintOf(position) ?? 0;
  }

  close(): void {
    this.#watcher?.close();
  }

  at(path: string): string {
    return join(this.folder, path);
  }

  write(file: string, text = `${Math.random()}`): void {
    mkdirSync(dirname(this.at(file)), { recursive: true });
    writeFileSync(this.at(file), text);
  }

  /** Resolves once changes of all these files were reported, and forgets all reports. */
  async reported(...files: readonly string[]): Promise<void> {
    await this.until(() => files.every((file) => this.changes.flat().includes(file)), `${files}`);
    this.changes.length = 0;
  }

  async until(holds: () => boolean, what: string): Promise<void> {
    const timer = setTimeout(() => this.#wake(), TIMEOUT_MS);
    for (const end = Date.now() + TIMEOUT_MS; !holds(); ) {
      if (Date.now() >= end)
        throw new Error(
          `timed out waiting for ${what}; reported were ${JSON.stringify(this.changes)}, ${this.warnings}`,
        );
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    clearTimeout(timer);
  }

  /** Changes `file`, and returns all changes that were reported until then. */
  async reportedUntil(file: string): Promise<readonly string[]> {
    this.write(file);
    await this.until(() => this.changes.flat().includes(file), file);
    return this.changes.splice(0).flat();
  }
}
