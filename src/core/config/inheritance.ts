/** What the processes of a configuration inherit of procman's environment: secrets only where they are named. */
import { type Inheritance, isIn } from "../base/inherited-variables.ts";
import { expand } from "../base/interpolate.ts";
import type { Config, ProcessSpec } from "./spec.ts";

/** What a process with another user inherits. */
const WITH_USER = ["PATH", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM"] as const;

/** What programs expect everywhere: these are never taken for secrets. */
const GENERAL = [
  ...WITH_USER,
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "PWD",
  "TMPDIR",
  "HOSTNAME",
  "COLORTERM",
  "NO_COLOR",
  "FORCE_COLOR",
  "XDG_*",
  "NODE_*",
  "SSL_CERT_*",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
] as const;

/** By name of a variable: the processes that name it; a plugin is none of them. */
type NamedVariables = ReadonlyMap<string, ReadonlySet<string>>;

const cache = new WeakMap<Config, NamedVariables>();

/** undefined: everything. */
export function inheritanceOf({ id, user, inheritEnv }: ProcessSpec, config: Config): Inheritance | undefined {
  if (inheritEnv === true) return undefined;
  if (typeof inheritEnv === "object") return { only: [...WITH_USER, ...inheritEnv] };
  if (inheritEnv === false || user !== undefined) return { only: WITH_USER };
  const without = [...named(config)].flatMap(([name, ids]) => (ids.has(id) ? [] : [name]));
  return without.length === 0 ? undefined : { without };
}

/** The variables that an `{ "env": NAME }` or the options of a plugin name. */
function named(config: Config): NamedVariables {
  const known = cache.get(config);
  if (known !== undefined) return known;
  const names = new Map<string, Set<string>>();
  const add = (name: string): Set<string> => {
    const ids = names.get(name) ?? new Set();
    if (!isIn(GENERAL, name)) names.set(name, ids);
    return ids;
  };
  for (const { id, env } of config.processes)
    for (const value of Object.values(env)) if (typeof value === "object" && "env" in value) add(value.env).add(id);
  for (const { options } of config.plugins) eachText(options, (text) => void expand(text, (name) => void add(name)));
  cache.set(config, names);
  return names;
}

function eachText(value: unknown, visit: (text: string) => void): void {
  if (typeof value === "string") visit(value);
  else if (typeof value === "object" && value !== null)
    for (const member of Object.values(value)) eachText(member, visit);
}
