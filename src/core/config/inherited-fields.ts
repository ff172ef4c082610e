/**
 * The configuration in effect: with its profiles, and with what its processes have by `defaults` and `extends`. What
 * counts least comes first: `defaults` of the main file, those of an included file for its processes, the processes
 * that a process extends, the process itself; each with what the profiles change in it.
 */
import { isObject } from "../base/schema-check.ts";
import { didYouMean } from "../base/suggest.ts";
import type { RawConfig } from "./config-schema.ts";
import type { Document, JsonPath } from "./document.ts";
import { INHERITABLE } from "./fields/process-fields.ts";
import { type ConfigLayer, difference, isWrittenIn, layerWith, merge } from "./merge.ts";
import { type Finding, type NameOf, namesOf, show } from "./problems.ts";
import { profileIn } from "./profile.ts";

/** What an included file gives its processes, by their index in the list of all. */
export type FileLayers = (index: number) => readonly ConfigLayer[];

type EffectiveDocument = {
  /** Nothing in it is inherited any more; places are those of the text. */
  readonly document: Document;
  /** Processes that can't be extended. */
  readonly problems: readonly Finding[];
  /** A problem of what several processes inherit is found once for each: the same with one, which names them. */
  readonly once: (findings: readonly Finding[]) => readonly Finding[];
  /** Without those about a key that applies to others who inherit it: defaults need not fit each process. */
  readonly useful: (warnings: readonly Finding[]) => readonly Finding[];
  /** Its data, once valid, without `defaults`. Each profile means the same over it. */
  readonly writtenOut: (config: RawConfig) => RawConfig;
};

/** Processes that extend one another. More are hard to follow, for people, too. */
const MAX_STEPS = 20;
/** Ids in a message. */
const MAX_NAMES = 3;

type WrittenFields = Readonly<Record<string, unknown>>;
/** The main file, or a profile. */
type TopLayer = { readonly data: WrittenFields; readonly path: JsonPath };

/** A process, and what it has of others. */
type Heir = {
  /** `defaults`, of the main file and of its own. */
  readonly common: readonly ConfigLayer[];
  /** As it is written, first in its file, then in profiles. */
  readonly own: [ConfigLayer, ...ConfigLayer[]];
};

/** `profiles`: names of those that are selected, of which the last counts most. */
export function effectiveDocument(
  document: Document,
  profiles: readonly string[],
  ofFile: FileLayers,
): EffectiveDocument {
  if (!isObject(document.data))
    return { document, problems: [], once: (all) => all, useful: (all) => all, writtenOut: (config) => config };
  const overs = profiles.map((name): TopLayer => ({ data: profileIn(document, name), path: ["profiles", name] }));
  const top: readonly TopLayer[] = [{ data: document.data, path: [] }, ...overs];
  const all = overs.reduce<unknown>(
    (below, { data }) => merge(below, data, () => true),
    document.data,
  ) as WrittenFields;
  const hasLists = Array.isArray(document.data.processes) && overs.every(({ data }) => listIn(data) !== undefined);
  const family = hasLists ? new Family(top, ofFile) : undefined;
  const origin = (path: JsonPath): JsonPath =>
    family?.originOf(path) ?? [...(layerWith(top, path)?.path ?? []), ...path];
  const effective: Document = {
    ...document,
    data: family === undefined ? all : { ...all, processes: family.processes() },
    place: (path, of) => document.place(origin(path), of),
  };
  return {
    document: effective,
    problems: family?.problems(namesOf(effective)) ?? [],
    once: (findings) => family?.once(findings) ?? findings,
    useful: (warnings) => family?.useful(warnings) ?? warnings,
    writtenOut: (config) =>
      family?.inherits === true
        ? written(config, (profile) => effectiveDocument(document, [...profiles, profile], ofFile))
        : config,
  };
}

/** A profile with a problem stays as it is. */
function written({ defaults: _, ...config }: RawConfig, effective: (profile: string) => EffectiveDocument): RawConfig {
  const { processes, profiles } = config;
  if (profiles === undefined) return config;
  const rewritten = Object.entries(profiles).map(([name, profile]) => {
    const { document, problems } = effective(name);
    const all = listIn(document.data as WrittenFields);
    if (all === undefined || problems.length > 0) return [name, profile] as const;
    const { defaults: _defaults, ...others } = profile;
    const changed = all.flatMap((process, index) => {
      if (index >= processes.length || !isObject(process)) return [process];
      const members = difference(processes[index], process) as WrittenFields;
      return Object.keys(members).length === 0 ? [] : [{ id: process.id, ...members }];
    });
    return [name, { ...others, processes: changed }] as const;
  });
  return { ...config, profiles: Object.fromEntries(rewritten) };
}

class Family {
  readonly #heirs: readonly Heir[];
  /** By id; of two with the same, which is refused, the first. */
  readonly #byId: ReadonlyMap<unknown, Heir>;
  /** What may be meant by ids that nothing has. */
  readonly #hints = new Map<string, string>();

  constructor(top: readonly TopLayer[], ofFile: FileLayers) {
    const defaults: ConfigLayer[] = [];
    for (const { data, path } of top) {
      const own = data.defaults === null ? without(defaults) : data.defaults;
      defaults.push(...inheritableOf({ data: own, path: [...path, "defaults"] }));
    }
    const heirs: Heir[] = [];
    let byId = new Map<unknown, Heir>();
    for (const [level, { data, path }] of top.entries()) {
      for (const [index, process] of (listIn(data) ?? []).entries()) {
        const layer = { data: process, path: [...path, "processes", index] };
        const known = byId.get(idOf(layer));
        const ofOwnFile = level === 0 ? ofFile(index).flatMap(inheritableOf) : [];
        if (known === undefined) heirs.push({ own: [layer], common: [...defaults, ...ofOwnFile] });
        else known.own.push(layer);
      }
      byId = new Map(heirs.map((heir) => [idOf(heir.own[0]), heir] as const).toReversed());
      byId.delete(undefined);
    }
    this.#heirs = heirs;
    this.#byId = byId;
  }

  get inherits(): boolean {
    const isWritten = ({ path }: ConfigLayer): boolean => path !== undefined;
    return this.#heirs.some((heir) => targetOf(heir) !== undefined || heir.common.some(isWritten));
  }

  processes(): readonly unknown[] {
    return this.#heirs.map((heir) => {
      const [{ data }] = heir.own;
      if (!isObject(data)) return data;
      const layers = this.#layersOf(heir);
      const all = layers.length === 1 ? data : (layers.reduce<unknown>(mergeLayer, undefined) as WrittenFields);
      // One that can't be resolved stays, so that nothing is said to be missing.
      if (typeof all.extends !== "string" || targetOf(this.#lineOf(heir).at(-1) ?? heir) !== undefined) return all;
      const { extends: _, ...process } = all;
      return process;
    });
  }

  /** Where a value of a process is written; undefined: the path is not one of a process. */
  originOf(path: JsonPath): JsonPath | undefined {
    const heir = this.#at(path);
    if (heir === undefined) return undefined;
    const [, , ...rest] = path;
    return [...(layerWith(this.#layersOf(heir), rest)?.path ?? heir.own[0].path ?? []), ...rest];
  }

  problems(nameOf: NameOf): readonly Finding[] {
    return this.#heirs.flatMap((heir, index) => {
      const message = this.#problemOf(heir, nameOf);
      return message === undefined ? [] : [{ path: ["processes", index, "extends"], message }];
    });
  }

  once(findings: readonly Finding[]): readonly Finding[] {
    const heirs = new Map<string, string[]>();
    const keyOf = ({ path, message, at }: Finding): string => JSON.stringify([this.originOf(path), message, at]);
    const first = findings.filter((finding) => {
      const heir = this.#at(finding.path);
      if (heir === undefined || !this.#isInherited(heir, finding.path.slice(2))) return true;
      const key = keyOf(finding);
      const known = heirs.get(key);
      heirs.set(key, [...(known ?? []), show(idOf(heir.own[0]))]);
      return known === undefined;
    });
    return first.map((finding) => {
      const ids = heirs.get(keyOf(finding));
      return ids === undefined ? finding : { ...finding, message: `${finding.message} ${inheritedBy(ids)}` };
    });
  }

  useful(warnings: readonly Finding[]): readonly Finding[] {
    const found = new Set(warnings.map(({ path }) => JSON.stringify(path)));
    const verdicts = new Map<string, boolean>();
    return warnings.filter(({ path, at }) => {
      const heir = this.#at(path);
      const [, , ...rest] = path;
      if (at !== "key" || heir === undefined || !this.#isInherited(heir, rest)) return true;
      const origin = JSON.stringify(this.originOf(path));
      const concernsAll = (): boolean =>
        this.#heirs.every((_, index) => {
          const same = ["processes", index, ...rest];
          return found.has(JSON.stringify(same)) || JSON.stringify(this.originOf(same)) !== origin;
        });
      const verdict = verdicts.get(origin) ?? concernsAll();
      verdicts.set(origin, verdict);
      return verdict;
    });
  }

  #at([first, index]: JsonPath): Heir | undefined {
    return first === "processes" && typeof index === "number" ? this.#heirs[index] : undefined;
  }

  #isInherited(heir: Heir, path: JsonPath): boolean {
    const layer = layerWith(this.#layersOf(heir), path);
    return layer?.path !== undefined && !heir.own.includes(layer);
  }

  /** All that it consists of, the weakest first. */
  #layersOf(heir: Heir): readonly ConfigLayer[] {
    const [, ...extended] = this.#lineOf(heir);
    return [...heir.common, ...extended.toReversed().flatMap(({ own }) => own.map(handedOn)), ...heir.own];
  }

  /** Itself, and one after the other the processes that it extends. */
  #lineOf(heir: Heir): readonly Heir[] {
    const line = [heir];
    for (let next = this.#extendedBy(heir); next !== undefined && !line.includes(next); next = this.#extendedBy(next)) {
      if (line.length > MAX_STEPS) break;
      line.push(next);
    }
    return line;
  }

  #extendedBy(heir: Heir): Heir | undefined {
    const target = targetOf(heir);
    return target === undefined ? undefined : this.#byId.get(target);
  }

  #problemOf(heir: Heir, nameOf: NameOf): string | undefined {
    const target = targetOf(heir);
    // The schema reports what can't be an id.
    if (target === undefined || target === "") return undefined;
    if (!this.#byId.has(target)) {
      const hint = this.#hints.get(target) ?? didYouMean(target, [...this.#byId.keys()].map(String));
      this.#hints.set(target, hint);
      return `Found ${show(target)}; allowed: the id of another process.${hint}`;
    }
    const line = this.#lineOf(heir);
    const last = line.at(-1) ?? heir;
    const next = this.#extendedBy(last);
    if (next === heir) return this.#circleOf(line, nameOf);
    return next === undefined || line.length <= MAX_STEPS
      ? undefined
      : `Found more than ${MAX_STEPS} processes that extend one another; allowed: up to ${MAX_STEPS}.`;
  }

  /** Told at its first process. */
  #circleOf(line: readonly Heir[], nameOf: NameOf): string | undefined {
    const positions = line.map((heir) => this.#heirs.indexOf(heir));
    const [first = 0] = positions;
    if (Math.min(...positions) !== first) return undefined;
    const ids = line.map(({ own }) => idOf(own[0]));
    if (ids.length === 1) return `Found ${show(ids[0])}, the process itself; allowed: the id of another process.`;
    const place = nameOf(["processes", positions.at(-1) ?? 0, "extends"]);
    const cycle = [...ids, ids[0]].join(" → ");
    return `Found a cycle: ${cycle}, closed by ${place}; allowed: a process that extends none of these.`;
  }
}

/** A profile may take away what isn't there; others what some profile has taken away. */
function mergeLayer(
  below: unknown,
  { data, path }: ConfigLayer,
  index: number,
  layers: readonly ConfigLayer[],
): unknown {
  return merge(below, data, (field) => path?.[0] === "profiles" || isWrittenIn(layers.slice(0, index), field));
}

/** What takes all fields away. */
function without(layers: readonly ConfigLayer[]): WrittenFields {
  return Object.fromEntries(layers.flatMap(({ data }) => Object.keys(data as object)).map((name) => [name, null]));
}

/** The id of the process that it extends. */
function targetOf({ own }: Heir): string | undefined {
  const layer = own.findLast(({ data }) => isObject(data) && Object.hasOwn(data, "extends"));
  const target = (layer?.data as WrittenFields | undefined)?.extends;
  return typeof target === "string" ? target : undefined;
}

/** What others have of a process that they extend. */
function handedOn({ data, path }: ConfigLayer): ConfigLayer {
  const { id: _id, extends: _extends, ...fields } = isObject(data) ? data : {};
  return { data: fields, path };
}

/** Without what is refused there. */
function inheritableOf({ data, path }: ConfigLayer): readonly ConfigLayer[] {
  if (!isObject(data)) return [];
  const fields = Object.entries(data).filter(([name]) => Object.hasOwn(INHERITABLE, name));
  return [{ data: Object.fromEntries(fields), path }];
}

function idOf({ data }: ConfigLayer): unknown {
  return isObject(data) ? data.id : undefined;
}

/** undefined: what is there is no list. */
function listIn({ processes = [] }: WrittenFields): readonly unknown[] | undefined {
  return Array.isArray(processes) ? processes : undefined;
}

function inheritedBy(ids: readonly string[]): string {
  const more = ids.length - MAX_NAMES;
  return `Inherited by ${ids.slice(0, MAX_NAMES).join(", ")}${more > 0 ? ` and ${more} more` : ""}.`;
}
