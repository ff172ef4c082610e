/** Worker scripts that the running Node can't execute. */
import { parseCommandLine } from "../../base/command-line.ts";
import { expand, malformedReferenceIn, ownMember } from "../../base/interpolate.ts";
import { suggest } from "../../base/suggest.ts";
import { HOOK_NAMES } from "../../supervisor/states.ts";
import type { JsonPath } from "../document.ts";
import type { PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

/** Needed by Node 22.6 to 22.17, and 23 before 23.6. */
const FLAG = "--experimental-strip-types";

/** Whether this Node runs TypeScript without a flag: from 22.18 on, unless it was built without support. */
export function stripsTypes(): boolean {
  // Not in the types of Node 20.
  return Boolean((process.features as { readonly typescript?: unknown }).typescript);
}

/** The flags with which this Node runs TypeScript; undefined: it can't. */
export function typeScriptFlags(): readonly string[] | undefined {
  if (stripsTypes()) return [];
  // Node knows the flag even if it was built without support.
  const { node_use_amaro: isBuilt } = process.config.variables as { readonly node_use_amaro?: boolean };
  return isBuilt !== false && process.allowedNodeEnvironmentFlags.has(FLAG) ? [FLAG] : undefined;
}

export function isTypeScript(script: string): boolean {
  return /\.[cm]?ts$/.test(script);
}

/** Why a worker in TypeScript would fail at its start. With NODE_OPTIONS it may have its own loader. */
export function workerProblem(
  { worker, env }: PartialProcess,
  strips: () => boolean,
): Pick<Finding, "message"> | undefined {
  const script = typeof worker === "string" ? worker : worker?.[0];
  const extension = /\.(?:[cm]?ts|[jt]sx)$/.exec(script ?? "")?.[0];
  if (extension === undefined || env?.NODE_OPTIONS !== undefined) return undefined;
  const isMarkup = extension.endsWith("x");
  if (!isMarkup && strips()) return undefined;
  const [what, remedy] = isMarkup
    ? ["no JSX", "compile it to JavaScript"]
    : [
        `no TypeScript (Node ${process.versions.node}; 22.6 and later do)`,
        "use a later Node, compile it to JavaScript",
      ];
  return {
    message: `Found ${show(script)}; this Node runs ${what}. Remedies: ${remedy}, or give the process a loader by "env": { "NODE_OPTIONS": "--import tsx" }.`,
  };
}

/** A shell that stays for the whole run, where a setting is meant for the program. */
export function shellWarnings(
  { cmd, cluster, pidFile, stopSignal, reloadSignal, killMode }: PartialProcess,
  path: JsonPath,
): readonly Finding[] {
  const settings = [
    ...(cluster?.mode === "share" ? ["the shared socket"] : []),
    ...(pidFile === undefined ? [] : ['"pidFile"']),
    ...(stopSignal === undefined || stopSignal === "SIGTERM" ? [] : ['"stopSignal"']),
    ...(reloadSignal === undefined ? [] : ['"reloadSignal"']),
    ...(killMode === "leader" ? ['"killMode"'] : []),
  ];
  if (cmd === undefined || settings.length === 0) return [];
  const command = parseCommandLine(cmd);
  // With exec in it, the user has decided which program takes the place of the shell.
  if (command.kind !== "shell" || /\bexec\s/.test(cmd)) return [];
  const what = settings.length === 1 ? settings[0] : `${settings.slice(0, -1).join(", ")} and ${settings.at(-1)}`;
  const verb = settings.length === 1 ? "concerns" : "concern";
  const remedy =
    command.remedy === "exec"
      ? "Write exec before the program"
      : 'End it with a single program, as in "cd app && node server.js"';
  const message = `Found ${show(cmd)}, which keeps a shell running because ${command.why}: the pid is the shell's, and ${what} ${verb} the shell, not the program. ${remedy}.`;
  return [{ path: [...path, "cmd"], message }];
}

/** Fills variables of procman's own environment into a path. The checks have refused unset ones; they would stay as they are. */
export function filledIn(path: string): string {
  return expand(path, (name) => ownMember(process.env, name)).text;
}

/** Paths with variables that are not set, and a PATH that is not a string. */
export function variableErrors(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const { env = {} } = process;
  const texts = fixedTexts(process, path);
  const missing = texts.flatMap(([text, place]) => (typeof text === "string" ? missingIn(text, place) : []));
  if (env.PATH === undefined || typeof env.PATH === "string") return missing;
  const message = `Found ${show(env.PATH)}; allowed: a string, the folders to append.`;
  return [...missing, { path: [...path, "env", "PATH"], message }];
}

/** Text that looks like a variable reference but isn't one: it stays as it is. */
export function variableWarnings(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const values = Object.entries(process.env ?? {}).map(([name, value]) => [value, [...path, "env", name]] as const);
  const texts = [...fixedTexts(process, path).filter(([, place]) => place.at(-1) !== "PATH"), ...values];
  return texts.flatMap(([text, place]) => {
    const stray = typeof text === "string" ? malformedReferenceIn(text) : undefined;
    const known = "${NAME}, ${NAME:-default} and ${NAME-default} are known";
    const message = `Found ${show(stray)}, which stays as it is: ${known}; a plain "\${" is written "$\${".`;
    return stray === undefined ? [] : [{ path: place, message }];
  });
}

/** Texts whose variables are filled in when the configuration is read. */
function fixedTexts(
  { cwd, path: folders, pathFirst, envFile, stdin, idle, env = {} }: PartialProcess,
  path: JsonPath,
): readonly (readonly [unknown, JsonPath])[] {
  return [
    [cwd, [...path, "cwd"]],
    ...each(folders, [...path, "path"]),
    ...each(pathFirst, [...path, "pathFirst"]),
    ...envFilesIn(envFile, [...path, "envFile"]).map(({ file, place }) => [file, place] as const),
    [fileOf(stdin), [...path, "stdin", "file"]],
    [idle?.busyFile, [...path, "idle", "busyFile"]],
    [env.PATH, [...path, "env", "PATH"]],
    ...Object.entries(env).map(([name, value]) => [fileOf(value), [...path, "env", name, "file"]] as const),
  ];
}

function missingIn(text: string, path: JsonPath): readonly Finding[] {
  const [name] = expand(text, (each) => process.env[each]).missing;
  const message = `Found ${show(text)}, but ${name} is not set here; set it, or give a default: \${${name}:-…}.`;
  return name === undefined ? [] : [{ path, message }];
}

function each(
  entries: string | readonly (string | undefined)[] | undefined,
  path: JsonPath,
): readonly (readonly [unknown, JsonPath])[] {
  if (typeof entries === "string") return [[entries, path]];
  return (entries ?? []).map((entry, index) => [entry, [...path, index]] as const);
}

type NamedEnvFile = { readonly file: string; readonly place: JsonPath; readonly isOptional: boolean };

/** The paths of env files, with their places. `path`: of the field. */
export function envFilesIn(envFile: PartialProcess["envFile"], path: JsonPath): readonly NamedEnvFile[] {
  return [envFile].flat().flatMap((entry, index): readonly NamedEnvFile[] => {
    const place = Array.isArray(envFile) ? [...path, index] : path;
    if (typeof entry === "string") return [{ file: entry, place, isOptional: false }];
    return entry?.path === undefined
      ? []
      : [{ file: entry.path, place: [...place, "path"], isOptional: entry.optional === true }];
  });
}

export function fileOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "file" in value ? value.file : undefined;
}

/** Values of the placeholders in file names: one pattern serves many processes. */
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

/** Fills in the placeholders; unknown ones (refused by the checks) stay. */
export function fill(pattern: string, names: Names): string {
  return pattern.replace(PLACEHOLDER, (written, key: string) => (isKnown(key) ? names[key] : written));
}

/** What stands for placeholders in the texts of a process or an instance. */
type TextValues = {
  /** Number of the instance from 0. */
  readonly index?: number | undefined;
  /** Its own port. */
  readonly port?: number | undefined;
  /** The ports of all, by id. */
  readonly ports?: ReadonlyMap<string, number>;
};

/** `{port:ID}` in its last group. */
const TEXT_PLACEHOLDER = /(?<!\$)\{(?:(instance|port)|port:([a-z0-9._-]{1,64}))\}/g;

/**
 * Fills `{instance}`, `{port}` and `{port:ID}` into a text. What has no value stays as it is, as commands and values may
 * have braces. So do variables of a shell, `${port}`.
 *
 * @example
 * fillInstance("http://localhost:{port}", { index: 1, port: 3002 }) // "http://localhost:3002"
 */
export function fillInstance(text: string, { index, port, ports }: TextValues): string {
  const own: Readonly<Record<string, number | undefined>> = { port, instance: index === undefined ? index : index + 1 };
  return text.replace(TEXT_PLACEHOLDER, (written, key: string | undefined, id = "") =>
    String((key === undefined ? ports?.get(id) : own[key]) ?? written),
  );
}

/** The ids in `{port:ID}` of a text. */
export function portsNamedIn(text: string): readonly string[] {
  return [...text.matchAll(TEXT_PLACEHOLDER)].flatMap(([, , id]) => id ?? []);
}

/** `{port}` without a port, and `{port:ID}` with what can't be an id. */
export function placeholderWarnings(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const { cluster, port, idle } = process;
  const hasPort = cluster === undefined ? port !== undefined || idle !== undefined : cluster.startPort !== undefined;
  const source = cluster === undefined ? '"port"' : '"cluster.startPort"';
  const problemOf = (text: string): string | undefined => {
    if (!hasPort && fillInstance(text, { port: 0 }) !== text) return `"{port}" without ${source}`;
    const [odd] = /(?<!\$)\{port:[^{}]*\}/g.exec(text.replace(TEXT_PLACEHOLDER, "")) ?? [];
    return odd === undefined ? undefined : `${show(odd)}, which names no process`;
  };
  return filledTexts(process, path).flatMap(([text, place]) => {
    const problem = typeof text === "string" ? problemOf(text) : undefined;
    return problem === undefined ? [] : [{ path: place, message: `Found ${problem}: it stays as it is.` }];
  });
}

/** The texts in which placeholders are filled in, but for those of `ready` and `health`. */
export function filledTexts(process: PartialProcess, path: JsonPath): readonly (readonly [unknown, JsonPath])[] {
  const { cmd, worker, env = {}, hooks = {} } = process;
  const values = Object.entries(env).map(([name, value]) => [value, [...path, "env", name]] as const);
  const commands = HOOK_NAMES.map((name) => {
    const hook = hooks[name];
    const place = [...path, "hooks", name];
    return typeof hook === "object" ? ([hook.cmd, [...place, "cmd"]] as const) : ([hook, place] as const);
  });
  const script = each(worker, [...path, "worker"]);
  return [[cmd, [...path, "cmd"]] as const, ...script, ...commands, ...fixedTexts(process, path), ...values];
}

/** Whether each instance of a cluster gets another name from the pattern. */
export function hasInstancePlaceholder(pattern: string): boolean {
  return pattern.includes("{id}") || pattern.includes("{instance}");
}

/** Message about the first unknown placeholder; undefined when all are known. */
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
