/** Turns schema violations of a configuration into messages that say what to do. */
import { branchesOf, type JsonSchema, keysOf } from "../base/schema.ts";
import { matches, type Violation } from "../base/schema-check.ts";
import { didYouMean, suggest } from "../base/suggest.ts";
import { withoutEnd } from "../base/text-end.ts";
import type { JsonPath } from "./document.ts";
import { NAME_PATTERN } from "./fields/field.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { type Finding, notAllowed, show } from "./problems.ts";

/** One finding for each violation. */
export function explain(violations: readonly Violation[]): readonly Finding[] {
  return violations.flatMap((violation) => explainOne(violation, violation.path));
}

function explainOne(violation: Violation, path: JsonPath): readonly Finding[] {
  const { keyword, schema, found } = violation;
  if (keyword === "additionalProperties") return [unknownKey(String(path.at(-1)), path, schema)];
  const meant = meantBranch(violation.branches ?? []);
  if (meant !== undefined) return meant.flatMap((inner) => explainOne(inner, [...path, ...inner.path]));
  if (keyword === "propertyNames")
    return [{ path, at: "key", message: notAllowed(found, schema.allowed ?? "another name") }];
  if (found === undefined) return [missing(path, allowedBy(violation))];
  return [{ path, message: notAllowed(found, allowedBy(violation), hint(violation)) }];
}

/** The alternative of a union that is meant: the only one where just a bound is violated, or whose faults all lie inside the value. */
function meantBranch(branches: readonly (readonly Violation[])[]): readonly Violation[] | undefined {
  const similar = branches.filter((violations) => violations.every(({ keyword }) => isBound(keyword)));
  const fitting = branches.filter((violations) =>
    violations.every(({ keyword, path }) => path.length > 0 || !isOfAnotherKind(keyword)),
  );
  return similar.length === 1 ? similar[0] : fitting.length === 1 ? fitting[0] : undefined;
}

function isBound(keyword: Violation["keyword"]): boolean {
  return ["pattern", "minimum", "maximum", "minItems"].includes(keyword);
}

function isOfAnotherKind(keyword: Violation["keyword"]): boolean {
  return keyword === "type" || keyword === "const" || keyword === "enum";
}

/** Keys of pm2, supervisord, systemd and compose, in lower case without `_` and `-`, and what they are here. */
const OTHER_KEYS: Readonly<Record<string, string>> = {
  apps: "processes",
  programs: "processes",
  services: "processes",
  script: "cmd",
  command: "cmd",
  exec: "cmd",
  execstart: "cmd",
  execstartpre: "hooks",
  execstoppost: "hooks",
  autorestart: "restart",
  name: "id",
  environment: "env",
  environmentfile: "envFile",
  standardinput: "stdin",
  stdinopen: "stdin",
  istty: "tty",
  pty: "tty",
  directory: "cwd",
  workingdir: "cwd",
  workingdirectory: "cwd",
  cronrestart: "cron",
  killtimeout: "terminateTimeout",
  stoptimeout: "terminateTimeout",
  stopwaitsecs: "terminateTimeout",
  timeoutstopsec: "terminateTimeout",
  maxmemoryrestart: "memoryLimit",
  execmode: "cluster",
  numprocs: "instances",
  replicas: "instances",
  stopsig: "stopSignal",
  killsignal: "stopSignal",
  startsecs: "minUptimeMs",
  minuptime: "minUptimeMs",
  startretries: "restartLimit",
  maxrestarts: "restartLimit",
  exitcodes: "successExitCodes",
  successexitstatus: "successExitCodes",
  healthcheck: "health",
  waitready: "ready",
  outfile: "stdout",
  stdoutlogfile: "stdout",
  errorfile: "stderr",
  stderrlogfile: "stderr",
  namespace: "groups",
  logs: "logger",
  logging: "logger",
};

const EXAMPLES: Readonly<Record<string, string>> = { cmd: ' It is the whole command line: "cmd": "node server.js".' };

function unknownKey(key: string, path: JsonPath, schema: JsonSchema): Finding {
  if (path.length === 2 && path[0] === "defaults" && Object.hasOwn(PROCESS, key))
    return { path, at: "key", message: `Found ${show(key)} in "defaults"; allowed: only in a process.` };
  const known = keysOf(schema);
  const word = key.toLowerCase().replace(/[_-]/g, "");
  const other = Object.hasOwn(OTHER_KEYS, word) ? OTHER_KEYS[word] : undefined;
  const similar =
    other !== undefined && known.includes(other) ? other : (suggest(key, known) ?? nearOtherKey(word, known));
  const meant = similar === undefined ? elsewhere(key, other, schema) : ` Did you mean ${JSON.stringify(similar)}?`;
  const example = similar !== undefined && similar === other ? (EXAMPLES[similar] ?? "") : "";
  const message = `Found the unknown key ${JSON.stringify(key)}.${meant}${example}`;
  return { path, at: "key", message, ...(similar !== undefined && { meant: similar }) };
}

/** The key for a misspelt word of another tool, as `comand`. */
function nearOtherKey(word: string, known: readonly string[]): string | undefined {
  const meant = OTHER_KEYS[suggest(word, Object.keys(OTHER_KEYS)) ?? ""];
  return meant !== undefined && known.includes(meant) ? meant : undefined;
}

/** Where the key, or its word here, belongs. */
function elsewhere(key: string, other: string | undefined, schema: JsonSchema): string {
  for (const [place, inner] of placesIn(schema)) {
    if (keysOf(inner).includes(key)) return ` It belongs in ${place}.`;
    if (other !== undefined && keysOf(inner).includes(other))
      return ` It belongs in ${place} as ${JSON.stringify(other)}.`;
  }
  return ` Known here: ${keysOf(schema).join(", ")}.`;
}

/** Sections and entries of lists, then sections of these. */
function placesIn(schema: JsonSchema): readonly (readonly [place: string, schema: JsonSchema])[] {
  const members = Object.entries(schema.properties ?? {});
  const sections = members.flatMap(([name, member]) => {
    const section = JSON.stringify(name);
    return [[section, member] as const, ...(member.items ? [[`an entry of ${section}`, member.items] as const] : [])];
  });
  const parts = members.flatMap(([name, { items }]) =>
    Object.entries(items?.properties ?? {}).map(
      ([part, inner]) => [`${JSON.stringify(part)} of an entry of ${JSON.stringify(name)}`, inner] as const,
    ),
  );
  return [...sections, ...parts];
}

function missing(path: JsonPath, allowed: string): Finding {
  const key = path.at(-1);
  return {
    path,
    message: typeof key === "string" ? `Missing key ${JSON.stringify(key)}: ${allowed}.` : `Missing value: ${allowed}.`,
  };
}

function allowedBy({ keyword, schema }: Violation): string {
  if (keyword === "minItems") return "at least one entry";
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  return schema.allowed ?? values?.map(show).join(", ") ?? "an object";
}

function hint(violation: Violation): string {
  const { keyword, schema, found, branches = [] } = violation;
  if (found === null) return " Leave it out: null only removes what is inherited.";
  if (typeof found === "number" && isNumeric(schema)) return aboveMaximum(found, schema, allowedBy(violation));
  // A list or an object of the file may have no usable `toString`.
  const text = typeof found === "object" ? undefined : String(found);
  if (keyword === "anyOf")
    return branches.every(isOtherType) && matches(text, schema) ? otherQuotes("string", found) : "";
  if (schema.enum !== undefined) return typeof found === "string" ? meantWord(found, schema.enum) : "";
  if (keyword === "type") return otherType(violation, text);
  return keyword === "pattern" && schema.pattern === NAME_PATTERN.source && typeof found === "string"
    ? otherName(found)
    : "";
}

/** Hint for a value that is right but for its type. */
function otherType(violation: Violation, text: string | undefined): string {
  const { schema, found } = violation;
  if (schema.type === "string" && !matches(text, schema)) return "";
  return otherQuotes(schema.type, found) || withoutUnit(text, allowedBy(violation));
}

/** Whether the schema, or an alternative of it, takes numbers. */
function isNumeric(schema: JsonSchema): boolean {
  return [schema, ...branchesOf(schema)].some(({ type }) => type === "integer" || type === "number");
}

/** The greatest value for a number beyond it, unless `allowed` says it. */
function aboveMaximum(found: number, schema: JsonSchema, allowed: string): string {
  const greatest = [schema, ...branchesOf(schema)].find(({ maximum }) => maximum !== undefined)?.maximum;
  return greatest === undefined || found <= greatest || allowed.includes(String(greatest))
    ? ""
    : ` The greatest value is ${greatest}.`;
}

/** Whether an alternative takes another type. */
function isOtherType(violations: readonly Violation[]): boolean {
  return violations.some(
    ({ keyword, path, schema }) => keyword === "type" && path.length === 0 && schema.const === undefined,
  );
}

/** Hint for a name that is nearly allowed. */
function otherName(found: string): string {
  if (found === "." || found === "..") return " As a folder name it means another folder; choose another name.";
  const lower = found.toLowerCase();
  if (lower !== found && NAME_PATTERN.test(lower)) return ` Write it in lower case: ${JSON.stringify(lower)}.`;
  const name = withoutEnd(lower.replace(/[^a-z0-9._-]+/g, "-").replace(/^-+/, ""), "-");
  return name !== found && NAME_PATTERN.test(name) ? ` Write ${JSON.stringify(name)}.` : "";
}

/** Values of `restart` elsewhere: in Docker, systemd and supervisord. */
const RESTART_WORDS: Readonly<Record<string, string>> = {
  no: "never",
  none: "never",
  false: "never",
  true: "always",
  "on-failure": "error",
  unexpected: "error",
  "unless-stopped": "always",
};

function meantWord(found: string, values: readonly string[]): string {
  const meant = Object.hasOwn(RESTART_WORDS, found) ? RESTART_WORDS[found] : undefined;
  return meant !== undefined && values.includes(meant)
    ? ` Did you mean ${JSON.stringify(meant)}?`
    : didYouMean(found, values);
}

/** Milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Hint for a time with a unit where a number is needed. */
function withoutUnit(found: string | undefined, allowed: string): string {
  const [, amount, unit = ""] = /^(\d+(?:\.\d+)?) ?(ms|s|m|min|h|d)$/.exec(found ?? "") ?? [];
  const [, milli = ""] = / of (milli)?seconds\b/.exec(allowed) ?? [];
  if (amount === undefined || !/ of (?:milli)?seconds\b/.test(allowed)) return "";
  return ` Write ${(Number(amount) * (UNITS[unit] ?? 0)) / (milli === "" ? 1_000 : 1)}.`;
}

/** Hint for a value with missing or superfluous quotes. */
function otherQuotes(expected: JsonSchema["type"], found: unknown): string {
  if (expected === "string" && (typeof found === "number" || typeof found === "boolean"))
    return ` Write it in double quotes: "${found}".`;
  const bare = expected === "boolean" ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/;
  if (expected !== "string" && typeof found === "string" && bare.test(found))
    return ` Write it without quotes: ${found}.`;
  return "";
}
