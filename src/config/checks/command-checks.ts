/** Worker scripts that the running Node can't execute. */

import { expand, strayIn } from "../../base/interpolate.ts";
import { suggest } from "../../base/suggest.ts";
import type { JsonPath } from "../document.ts";
import type { PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

/** It strips types only when asked to: Node 22.6 to 22.17, and 23 before 23.6. */
const FLAG = "--experimental-strip-types";

/** What this Node does by itself: from 22.18 on, unless it was built without that. */
export function stripsTypes(): boolean {
  // Not in the types of Node 20.
  return Boolean((process.features as { readonly typescript?: unknown }).typescript);
}

/** What this Node has to be told so that it runs TypeScript; undefined: it can't. */
export function typeScriptFlags(): readonly string[] | undefined {
  if (stripsTypes()) return [];
  // It knows the flag also if it was built without what strips them.
  const { node_use_amaro: isBuilt } = process.config.variables as { readonly node_use_amaro?: boolean };
  return isBuilt !== false && process.allowedNodeEnvironmentFlags.has(FLAG) ? [FLAG] : undefined;
}

export function isTypeScript(script: string): boolean {
  return /\.[cm]?ts$/.test(script);
}

/** Why a worker in TypeScript would end as soon as it starts. Whoever sets NODE_OPTIONS for it brings a loader along. */
export function workerProblem({ worker, env }: PartialProcess, strips: () => boolean): Pick<Finding, "message"> | undefined {
  const script = typeof worker === "string" ? worker : worker?.[0];
  const extension = /\.(?:[cm]?ts|[jt]sx)$/.exec(script ?? "")?.[0];
  if (extension === undefined || env?.NODE_OPTIONS !== undefined) return undefined;
  const isMarkup = extension.endsWith("x");
  if (!isMarkup && strips()) return undefined;
  const [what, instead] = isMarkup
    ? ["no JSX", "compile it to JavaScript"]
    : [`no TypeScript (Node ${process.versions.node}; 22.6 and later do)`, "use a later Node, compile it to JavaScript"];
  return {
    message: `Found ${show(script)}; this Node runs ${what}. Remedies: ${instead}, or give the process a loader by "env": { "NODE_OPTIONS": "--import tsx" }.`,
  };
}

/** Variables of procman's own environment in paths: filled in when the configuration is read, so that a missing one is an error with its place. */

/** The path with all values; what has none (refused by the checks before) stays as it is. */
export function filledIn(path: string): string {
  return expand(path, (name) => process.env[name]).text;
}

/** Paths that need what is not set, and a PATH that is no list of folders. */
export function variableErrors(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const { env = {} } = process;
  const places = fixedTexts(process, path);
  const isObject = typeof env.PATH === "object";
  return [
    ...places.flatMap(([text, place]) => (typeof text === "string" ? missingIn(text, place) : [])),
    ...(isObject
      ? [{ path: [...path, "env", "PATH"], message: `Found ${show(env.PATH)}; allowed: a string, the folders to append.` }]
      : []),
  ];
}

/** What looks like a reference and is none: it stays as it is. */
export function variableWarnings(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const values = Object.entries(process.env ?? {}).map(([name, value]) => [value, [...path, "env", name]] as const);
  const texts = [...fixedTexts(process, path).filter(([, place]) => place.at(-1) !== "PATH"), ...values];
  return texts.flatMap(([text, place]) => {
    const stray = typeof text === "string" ? strayIn(text) : undefined;
    const known = "${NAME}, ${NAME:-default} and ${NAME-default} are known";
    const message = `Found ${show(stray)}, which stays as it is: ${known}; a plain "\${" is written "$\${".`;
    return stray === undefined ? [] : [{ path: place, message }];
  });
}

/** Texts in which variables are filled in when the configuration is read. */
function fixedTexts({ cwd, path: folders, envFile, env = {} }: PartialProcess, path: JsonPath): readonly (readonly [unknown, JsonPath])[] {
  return [
    [cwd, [...path, "cwd"]],
    ...each(folders, [...path, "path"]),
    ...each(envFile, [...path, "envFile"]),
    [env.PATH, [...path, "env", "PATH"]],
    ...Object.entries(env).map(([name, value]) => [fileOf(value), [...path, "env", name, "file"]] as const),
  ];
}

function missingIn(text: string, path: JsonPath): readonly Finding[] {
  const [name] = expand(text, (each) => process.env[each]).missing;
  if (name === undefined) return [];
  return [{ path, message: `Found ${show(text)}, but ${name} is not set here; set it, or give a default: \${${name}:-…}.` }];
}

function each(entries: string | readonly (string | undefined)[] | undefined, path: JsonPath): readonly (readonly [unknown, JsonPath])[] {
  if (typeof entries === "string") return [[entries, path]];
  return (entries ?? []).map((entry, index) => [entry, [...path, index]] as const);
}

function fileOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "file" in value ? value.file : undefined;
}

/** `{id}` and its kind in file names: one pattern for many processes. */

export type Names = {
  /** Name of the configuration. */
  readonly name: string;
  /** Process or instance id. */
  readonly id: string;
  /** Process id, without the number of an instance. */
  readonly process: string;
  /** Number of the instance from 1; empty for a process without cluster. */
  readonly instance: string;
};

const PLACEHOLDERS = ["name", "id", "process", "instance"] as const satisfies readonly (keyof Names)[];

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** The pattern with all names filled in; unknown ones (refused by the checks before) stay. */
export function fill(pattern: string, names: Names): string {
  return pattern.replace(PLACEHOLDER, (written, key: string) => (isKnown(key) ? names[key] : written));
}

/** Whether the instances of a cluster get names of their own from it. */
export function tellsInstancesApart(pattern: string): boolean {
  return pattern.includes("{id}") || pattern.includes("{instance}");
}

/** A sentence about the first unknown placeholder; undefined when all are known. */
export function unknownPlaceholder(pattern: string): string | undefined {
  const unknown = [...pattern.matchAll(PLACEHOLDER)].find(([, key = ""]) => !isKnown(key));
  if (unknown === undefined) return undefined;
  const near = suggest(unknown[1] ?? "", PLACEHOLDERS);
  const known = PLACEHOLDERS.map((key) => `{${key}}`).join(", ");
  return `Found the unknown placeholder ${unknown[0]}; allowed: ${known}.${near === undefined ? "" : ` Did you mean {${near}}?`}`;
}

function isKnown(key: string): key is keyof Names {
  return (PLACEHOLDERS as readonly string[]).includes(key);
}
