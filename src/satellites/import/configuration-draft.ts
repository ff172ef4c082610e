/** What the importers fill: processes with fields of procman, and notes about what has no equal in procman. */
import { basename, isAbsolute, relative, resolve } from "node:path";
import { withoutEnd } from "../../core/base/text-end.ts";
import { NAME_PATTERN } from "../../core/config/fields/field.ts";

/** `field`: as it is called in the foreign file. `advice`: what to do. */
export type ImportNote = { readonly field: string; readonly advice: string };

type ProfileEntry = { readonly draft: ProcessDraft; readonly members: Readonly<Record<string, unknown>> };

/** A process of the configuration while it is made. */
export class ProcessDraft {
  id: string;
  /** As it is called in the foreign file. */
  readonly name: string;
  /** The foreign file, for a comment. */
  readonly origin: string;
  readonly fields: Record<string, unknown> = {};
  readonly notes: ImportNote[] = [];

  constructor(id: string, name: string, origin: string) {
    this.id = id;
    this.name = name;
    this.origin = origin;
  }

  /** `undefined` sets nothing. */
  set(field: string, value: unknown): this {
    if (value !== undefined) this.fields[field] = value;
    return this;
  }

  setAll(fields: Readonly<Record<string, unknown>>): this {
    for (const [field, value] of Object.entries(fields)) this.set(field, value);
    return this;
  }

  /** Adds members to a field that is an object, such as `logger`. */
  merge(field: string, members: Readonly<Record<string, unknown>>): this {
    const given = Object.entries(members).filter(([, value]) => value !== undefined);
    if (given.length > 0)
      this.fields[field] = { ...(this.fields[field] as object | undefined), ...Object.fromEntries(given) };
    return this;
  }

  note(field: string, advice: string): this {
    this.notes.push({ field, advice });
    return this;
  }
}

/** What is written of a draft. */
export type DraftContent = Readonly<Pick<ConfigurationDraft, "fields" | "notes" | "profiles">> & {
  readonly processes: readonly ProcessDraft[];
  readonly dropped: readonly ProcessDraft[];
};

/** The configuration while it is made, of one or several foreign files. */
export class ConfigurationDraft {
  /** Folder of the file that will be written: relative paths are written for it. */
  readonly folder: string;
  readonly fields: Record<string, unknown> = {};
  readonly notes: ImportNote[] = [];
  readonly processes: ProcessDraft[] = [];
  /** What was left out, because nothing of it can be run. */
  readonly dropped: ProcessDraft[] = [];
  /** What differs in an environment, by its name. */
  readonly profiles = new Map<string, readonly ProfileEntry[]>();
  readonly #ids = new Set<string>();
  #nextPort = 0;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** A new process. Its id is the foreign name, or one made of it that procman accepts and that is not taken. */
  add(name: string, origin: string): ProcessDraft {
    const wanted = idOf(name);
    const id = this.#unused(wanted);
    const draft = new ProcessDraft(id, name, origin);
    if (id !== wanted)
      draft.note("name", `the name ${JSON.stringify(name)} occurs more than once; this one is called ${id}`);
    else if (id !== name)
      draft.note("name", `${JSON.stringify(name)} is called ${id}: an id has only a-z, 0-9, ".", "_" and "-"`);
    this.processes.push(draft);
    return draft;
  }

  /** Another id for a process whose id collides. */
  rename(draft: ProcessDraft): void {
    const before = draft.id;
    draft.id = this.#unused(before);
    for (const { fields } of this.processes)
      if (Array.isArray(fields.dependsOn)) fields.dependsOn = renamed(fields.dependsOn, before, draft.id);
    draft.note("name", `the id ${before} collides with another process or instance; this one is called ${draft.id}`);
  }

  /** Takes a process out: nothing of it can be run. */
  drop(draft: ProcessDraft, field: string, advice: string): void {
    this.processes.splice(this.processes.indexOf(draft), 1);
    this.dropped.push(draft.note(field, advice));
  }

  note(field: string, advice: string): void {
    if (!this.notes.some((note) => note.field === field && note.advice === advice)) this.notes.push({ field, advice });
  }

  merge(field: string, members: Readonly<Record<string, unknown>>): void {
    this.fields[field] = { ...(this.fields[field] as object | undefined), ...members };
  }

  /** What differs in one environment. */
  addToProfile(name: string, draft: ProcessDraft, members: Readonly<Record<string, unknown>>): void {
    this.profiles.set(name, [...(this.profiles.get(name) ?? []), { draft, members }]);
  }

  /** The first of as many ports that nothing else in the configuration uses, above `port`. */
  freePorts(port: number, count: number): number {
    const start = Math.max(port + 1, this.#nextPort);
    if (start + count > 65_535) return Math.max(1_024, port - count);
    this.#nextPort = start + count;
    return start;
  }

  /** A path for the configuration: relative if it is below its folder. `base`: the folder from which it resolves in the foreign file. */
  path(base: string, path: string): string {
    if (/^~|\$\{/.test(path)) return path;
    const absolute = resolve(base, path);
    const short = relative(this.folder, absolute);
    if (short === "") return ".";
    return short.startsWith("..") || isAbsolute(short) ? absolute : short;
  }

  #unused(wanted: string): string {
    let id = wanted;
    for (let count = 2; this.#ids.has(id); count++) id = `${wanted.slice(0, 60 - String(count).length)}_${count}`;
    this.#ids.add(id);
    return id;
  }
}

function renamed(list: readonly unknown[], before: string, after: string): readonly unknown[] {
  return list.map((entry) => {
    if (entry === before) return after;
    return typeof entry === "object" && entry !== null && "id" in entry && entry.id === before
      ? { ...entry, id: after }
      : entry;
  });
}

/** A name reduced to what procman accepts as an id, a group or the name of a configuration. */
export function idOf(name: string): string {
  const letters = name
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-.]+/, "");
  const id = withoutEnd(letters, "-").slice(0, 64);
  if (id === "all") return "all_";
  return NAME_PATTERN.test(id) ? id : "process";
}

/** The name of a program, without folder and extension. */
export function programName(path: string): string {
  return basename(path).replace(/(.)\.[A-Za-z]{1,6}$/, "$1");
}
