/** `include`: further files whose processes belong to the configuration, one for each program or team. */
import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { type JsonSchema, object, optional } from "../base/schema.ts";
import { isObject, violations } from "../base/schema-check.ts";
import { didYouMean } from "../base/suggest.ts";
import { changeableByOthers, foldersTo, type Trust } from "../os/path-trust.ts";
import { absoluteProcess } from "./absolute-paths.ts";
import { type ConfigText, displayPath, readFound } from "./config-file.ts";
import { TOP } from "./config-schema.ts";
import { type Document, type JsonPath, parseDocument, type SyntaxFault, showPath, withoutBom } from "./document.ts";
import { explain } from "./explain.ts";
import { INHERITABLE } from "./fields/process-fields.ts";
import { type IncludedPath, includedPaths, MAX_FILES } from "./include-patterns.ts";
import type { FileLayers } from "./inherited-fields.ts";
import type { ConfigLayer } from "./merge.ts";
import { show } from "./problems.ts";

export type IncludeContext = {
  /** Absolute path of the main file; empty for data. */
  readonly file: string;
  /** Patterns resolve from here; undefined: nothing says from where. */
  readonly folder: string | undefined;
  /** Names of files in messages are relative to it. */
  readonly cwd: string;
  /** The text of one of the files, as it would be after an edit. */
  readonly edited?: ConfigText | undefined;
  /** The files that it includes, in place of those on the disk. */
  readonly given?: readonly ConfigText[] | undefined;
};

type WithIncluded = {
  readonly document: Document;
  /** What was read of them. */
  readonly texts: readonly ConfigText[];
  /** What processes have of the included file that they are in. */
  readonly ofFile: FileLayers;
};

/**
 * The document with the processes of all files that it includes, behind its own. Their relative paths are made
 * absolute: they resolve from the folder of their file. Without a valid `include` and a list of processes it stays as
 * it is.
 */
export function withIncluded(main: Document, context: IncludeContext): WithIncluded {
  const { data } = main;
  if (!isObject(data) || !isIncludeList(data.include) || !Array.isArray(data.processes))
    return { document: main, texts: [], ofFile: () => [] };
  const { include, ...rest } = data;
  const { texts, faults } = readAll(main, include, context);
  const parts = texts.map(({ file, shownAs, text }, index) =>
    partOf(parseDocument(withoutBom(text), shownAs), { folder: dirname(file), index }),
  );
  const own: readonly unknown[] = data.processes;
  const document: Document = {
    data: { ...rest, processes: [...own, ...parts.flatMap(({ processes }) => processes)] },
    syntax: [...main.syntax, ...faults, ...parts.flatMap(({ document }) => document.syntax)],
    faults: [...main.faults, ...parts.flatMap((part) => [...part.document.faults, ...part.faults])],
    sources: new Map([...main.sources, ...parts.flatMap((part) => [...part.document.sources])]),
    place: (path, of) => placeIn({ main, parts, count: own.length }, path, of),
  };
  const layers = parts.flatMap((part) => part.processes.map(() => part.layers));
  return { document, texts, ofFile: (index) => layers[index - own.length] ?? [] };
}

/** The patterns of a configuration that may be invalid. */
export function includesOf(data: unknown): readonly string[] {
  return isObject(data) && isIncludeList(data.include) ? data.include : [];
}

function isIncludeList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string" && entry !== "");
}

type Reading = { readonly texts: readonly ConfigText[]; readonly faults: readonly SyntaxFault[] };

function readAll(
  main: Document,
  include: readonly string[],
  { file, folder, cwd, edited, given }: IncludeContext,
): Reading {
  if (given !== undefined) return { texts: given, faults: [] };
  const faultAt = (path: JsonPath, message: string): SyntaxFault => {
    const place = main.place(path);
    return { ...place, path: showPath(place.path), message };
  };
  if (include.length === 0) return { texts: [], faults: [] };
  if (folder === undefined)
    return {
      texts: [],
      faults: [
        faultAt(["include"], "Found files to include, but no folder from which they resolve; give `file` or `cwd`."),
      ],
    };
  const paths = includedPaths(include, folder, file);
  if (paths.length > MAX_FILES)
    return { texts: [], faults: [faultAt(["include"], `Found ${paths.length} files; allowed: at most ${MAX_FILES}.`)] };
  const texts: ConfigText[] = [];
  const faults: SyntaxFault[] = [];
  let trust: Trust | undefined;
  for (const path of paths) {
    try {
      if (path.isFound) trust ??= trustOf(file, folder);
      const found = path.file === edited?.file ? edited : readOne(path, { file, cwd, trust });
      if (found !== undefined) texts.push(found);
    } catch (error) {
      faults.push(faultAt(["include", path.entry], (error as Error).message));
    }
  }
  return { texts, faults };
}

/** `trust`: who may change what a pattern finds; undefined: the system doesn't tell users apart. */
type MainFile = { readonly file: string; readonly cwd: string; readonly trust: Trust | undefined };

/** undefined: removed since the pattern found it. @throws Error with the problem */
function readOne({ file, isFound }: IncludedPath, main: MainFile): ConfigText | undefined {
  if (file === main.file) throw new Error("Found the name of this file itself; allowed: other files.");
  const shownAs = displayPath(file, main.cwd);
  const text = readFound(file, shownAs);
  if (text === undefined && !isFound)
    throw new Error(`Found the name of a file that doesn't exist (${shownAs}). Create it, or correct the name.`);
  if (isFound && text !== undefined && main.trust !== undefined) checkTrust(text, main.trust);
  return text;
}

/** Who can change the folder of the main file can replace that, too. */
function trustOf(mainFile: string, folder: string): Trust | undefined {
  const uid = process.geteuid?.();
  const gid = process.getegid?.();
  if (uid === undefined || gid === undefined) return undefined;
  const owner = lstatSync(mainFile, { throwIfNoEntry: false })?.uid ?? uid;
  return { uids: [uid, 0, owner], gids: [gid], folders: foldersTo(folder) };
}

/** Another user may have put it where the pattern finds it: what it names would run with the rights of this user. */
function checkTrust({ file, shownAs }: ConfigText, trust: Trust): void {
  const problem = changeableByOthers(file, trust);
  if (problem === undefined) return;
  throw new Error(
    `Cannot include ${shownAs}, which the pattern finds: ${problem}, and could have put it there. If that is intended, name it without a pattern.`,
  );
}

type IncludedPart = {
  readonly document: Document;
  readonly processes: readonly unknown[];
  readonly layers: readonly ConfigLayer[];
  readonly faults: readonly SyntaxFault[];
};

/** `index`: of the file, among all that are included. */
type PartOrigin = { readonly folder: string; readonly index: number };

function partOf(document: Document, { folder, index }: PartOrigin): IncludedPart {
  const { data } = document;
  const { processes, defaults } = isObject(data) ? data : {};
  return {
    document,
    processes: Array.isArray(processes) ? processes.map((process: unknown) => absoluteProcess(process, folder)) : [],
    layers: [
      { data: absoluteProcess({ cwd: "." }, folder), path: undefined },
      ...(isObject(defaults) ? [{ data: absoluteProcess(defaults, folder), path: ["included", index] }] : []),
    ],
    faults: document.syntax.length > 0 ? [] : partFaults(document),
  };
}

const PART_KEYS: readonly string[] = ["processes", "defaults", "$schema"];
const ALLOWED = '"processes" and "defaults"';

/** Names alone: values are checked where processes have them. */
const DEFAULTS: JsonSchema = object(
  { defaults: optional(object(Object.fromEntries(Object.keys(INHERITABLE).map((name) => [name, optional({})])))) },
  { additionalProperties: true },
);

/** What an included file may have: `processes`, `defaults` for these, and `$schema` for editors. */
function partFaults({ data, place }: Document): readonly SyntaxFault[] {
  const fault = (path: JsonPath, message: string): SyntaxFault => {
    const { path: own, ...at } = place(path, "key");
    return { ...at, path: showPath(own), message };
  };
  if (!isObject(data)) return [fault([], `Found ${show(data)}; allowed: an object with "processes".`)];
  const others = Object.keys(data).filter((key) => !PART_KEYS.includes(key));
  const faults = others.map((key) =>
    Object.hasOwn(TOP, key)
      ? fault([key], `Found ${show(key)} in an included file; allowed: only in the main file.`)
      : fault([key], `Found the unknown key ${show(key)}; allowed: ${ALLOWED}.${didYouMean(key, PART_KEYS)}`),
  );
  faults.push(...explain(violations(data, DEFAULTS)).map(({ path, message }) => fault(path, message)));
  if (Array.isArray(data.processes)) return faults;
  const found = data.processes === undefined ? 'Missing key "processes"' : `Found ${show(data.processes)}`;
  return [...faults, fault(["processes"], `${found}; allowed: a list of processes.`)];
}

type Parts = { readonly main: Document; readonly parts: readonly IncludedPart[]; readonly count: number };

/** A process behind those of the main file is one of an included file. */
function placeIn({ main, parts, count }: Parts, path: JsonPath, of?: "value" | "key"): ReturnType<Document["place"]> {
  const [first, index, ...rest] = path;
  if (first === "included" && typeof index === "number" && parts[index] !== undefined)
    return parts[index].document.place(["defaults", ...rest], of);
  if (first !== "processes" || typeof index !== "number" || index < count) return main.place(path, of);
  let at = index - count;
  for (const { document, processes } of parts) {
    if (at < processes.length) return document.place(["processes", at, ...rest], of);
    at -= processes.length;
  }
  return main.place(["processes"], of);
}
