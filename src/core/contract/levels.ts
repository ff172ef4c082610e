/** What the names and numbers of levels mean that programs write in their lines. */
import { enumeration, list, literal, openObject, optional, type Schema, string, union } from "../base/schema.ts";
import { SEVERITIES, type Severity } from "./records.ts";

/** How lines of a program say their severity: by a beginning, or by a regular expression; without `severity` its first group is the name of a level. */
export type LevelRule = { readonly prefix?: string; readonly regex?: string; readonly severity?: Severity };

/** false: lines aren't asked; their stream decides. */
export type LevelRules = false | readonly LevelRule[];

export const LEVEL_RULES: Schema<LevelRules> = union([
  literal(false),
  list(
    openObject({
      prefix: optional(string()),
      regex: optional(string()),
      severity: optional(enumeration(SEVERITIES)),
    }) as Schema<LevelRule>,
  ),
]);

/** In lower case; letters only, at most `LONGEST_NAME` of them. */
export const LEVEL_NAMES: Readonly<Record<Severity, readonly string[]>> = {
  debug: "trace trc debug dbg verbose silly http fine finer finest config".split(" "),
  info: "info inf information notice log default success".split(" "),
  warn: "warn wrn warning".split(" "),
  error: "error err fatal ftl severe critical crit alert emerg emergency panic dpanic exception".split(" "),
};

export const LONGEST_NAME: number = Math.max(
  ...Object.values(LEVEL_NAMES)
    .flat()
    .map(({ length }) => length),
);

const SEVERITY_OF: ReadonlyMap<string, Severity> = new Map(
  (Object.keys(LEVEL_NAMES) as Severity[]).flatMap((severity) =>
    LEVEL_NAMES[severity].map((name) => [name, severity] as const),
  ),
);

/** The severity of `WARN`, `warning`, `INFO+2` (slog), `40`; undefined: it is no level. */
export function severityNamed(name: string): Severity | undefined {
  return /^\d{1,4}$/.test(name)
    ? severityNumbered(Number(name))
    : SEVERITY_OF.get(name.toLowerCase().replace(/[+-]\d{1,4}$/, ""));
}

/** 0 to 7 are those of syslog, 10 to 99 those of pino and bunyan, 100 to 600 those of Monolog. */
export function severityNumbered(level: number): Severity | undefined {
  return BOUNDS.find(([below]) => level < below)?.[1];
}

/** The severity of the numbers below each. */
const BOUNDS: readonly (readonly [below: number, severity: Severity | undefined])[] = [
  [4, "error"],
  [5, "warn"],
  [7, "info"],
  [8, "debug"],
  [10, undefined],
  [30, "debug"],
  [40, "info"],
  [50, "warn"],
  [100, "error"],
  [200, "debug"],
  [300, "info"],
  [400, "warn"],
  [601, "error"],
];
