/** Query parameters of routes: how each is written, read and described. */
import { type ErrorPlace, ProcmanError } from "../base/errors.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf, MAX_FAULTS } from "../base/schema-check.ts";
import { didYouMean } from "../base/suggest.ts";
import { existingTime, ISO_TIME } from "../base/time-stamp.ts";
import { EVENT_TYPES } from "./event-record.ts";
import { CATEGORIES, SEVERITIES } from "./records.ts";

/** `number` and `flag` (1, 0, true, false) are read from text, `time` is ISO 8601 or milliseconds since 1970, `list` may be repeated and separated by commas, `texts` repeated alone. */
type ParameterKind = "text" | "number" | "flag" | "time" | "list" | "texts";

export type Parameter = { readonly kind: ParameterKind; readonly description: string; readonly schema: JsonSchema };

export type Parameters = Readonly<Record<string, Parameter>>;

type ParameterValue<P extends Parameter> = P extends { readonly kind: "number" | "time" }
  ? number
  : P extends { readonly kind: "flag" }
    ? boolean
    : P extends { readonly kind: "list" | "texts" }
      ? readonly string[]
      : string;

/** The values of a query; omitted parameters are absent. */
export type ParameterValues<P extends Parameters> = { readonly [name in keyof P]?: ParameterValue<P[name]> };

/** The values of a query (without `?`). @throws {ProcmanError} `input-invalid` with all faults */
export function readQuery(text: string, parameters: Parameters): Readonly<Record<string, unknown>> {
  const faults: ErrorPlace[] = [];
  const values: Record<string, unknown> = {};
  if (/%(?![0-9a-f]{2})/i.test(text))
    faults.push({ place: "query", message: 'has a "%" that begins no escape; write it as %25' });
  const given = new URLSearchParams(text);
  for (const name of new Set(given.keys())) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    const place = `query.${name.slice(0, 64)}`;
    if (parameter === undefined)
      faults.push({ place, message: `is not known.${knownNames(name, Object.keys(parameters))}` });
    else values[name] = readValue(given.getAll(name), parameter, { place, faults });
  }
  if (faults.length > 0) throw invalid(faults);
  return values;
}

function knownNames(name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  return hint !== "" || known.length === 0 ? hint : ` Allowed: ${known.join(", ")}`;
}

export function invalid(faults: readonly ErrorPlace[]): ProcmanError {
  const [first, ...others] = faults;
  const message = first?.message.replace(/\.$/, "") ?? "";
  const more =
    others.length === 0 ? "" : message.endsWith("?") ? ` And ${others.length} more` : `; and ${others.length} more`;
  return new ProcmanError("input-invalid", `Cannot take this request: "${first?.place}" ${message}${more}`, {
    faults: faults.slice(0, MAX_FAULTS),
  });
}

/** The text of a query, as `readQuery` reads it; empty without values. */
export function writeQuery(
  values: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue;
    if (typeof value === "object") for (const each of value) query.append(name, each);
    else query.append(name, value === true ? "1" : String(value));
  }
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

function readValue(
  texts: readonly string[],
  { kind, schema }: Parameter,
  at: { readonly place: string; readonly faults: ErrorPlace[] },
): unknown {
  if (kind !== "list" && kind !== "texts" && texts.length > 1)
    at.faults.push({ place: at.place, message: `is given ${texts.length} times; give it once` });
  const value =
    kind === "list"
      ? texts.flatMap((text) => text.split(",")).filter((text) => text !== "")
      : kind === "texts"
        ? texts
        : valueIn(texts[0] ?? "", kind);
  if (kind === "time" && value === undefined)
    at.faults.push({
      place: at.place,
      message: "must be a time like 2026-01-31T12:00:00Z, or milliseconds since 1970",
    });
  else at.faults.push(...faultsOf(value, kind === "time" ? {} : schema, at.place));
  return value;
}

/** A value that can't be read stays text, which the schema refuses. */
function valueIn(text: string, kind: ParameterKind): unknown {
  if (kind === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (kind === "flag") return text === "1" || text === "true" ? true : text === "0" || text === "false" ? false : text;
  return kind === "time" ? timeOf(text) : text;
}

/** A "+" in a query means a space, so the "+" of a time zone arrives as one. */
function timeOf(text: string): number | undefined {
  const given = text.replace(/(?<=:\d\d(?:\.\d{1,9})?) (?=\d\d:?\d\d$)/, "+");
  if (!TIME.test(given)) return undefined;
  const time = /^\d+$/.test(given) ? Number(given) : existingTime(given);
  return Number.isNaN(time) || time > 8.64e15 ? undefined : time;
}

/** The query parameters of the routes that have any. */

const TIME_PATTERN = `^(?:\\d{1,16}|${ISO_TIME})$`;
const TIME = new RegExp(TIME_PATTERN);

const WAIT_LIMIT_SECONDS = 3_600;

export const WAIT = {
  wait: {
    kind: "number",
    description:
      "Answer when the target state is reached; after this number of seconds, answer 504. Without it, answer at once.",
    schema: { type: "number", minimum: 0, maximum: WAIT_LIMIT_SECONDS },
  },
} as const satisfies Parameters;

export const PLAN = {
  profile: {
    kind: "text",
    description: "A profile of the file; empty: none. Default: the active one.",
    schema: { type: "string", maxLength: 200 },
  },
} as const satisfies Parameters;

export const RELOAD = { ...WAIT, ...PLAN } as const satisfies Parameters;

export const ROLLOUT_QUERY = {
  after: {
    kind: "number",
    description: "`next` of the answer before: with `wait`, answer when something has changed since then.",
    schema: { type: "integer", minimum: 0 },
  },
  wait: {
    kind: "number",
    description: "Wait for the change; at the latest, answer after this number of seconds.",
    schema: { type: "number", minimum: 0, maximum: 60 },
  },
} as const satisfies Parameters;

export const DEPLOYMENT_QUERY = {
  after: {
    kind: "number",
    description: "`next` of the answer before: only lines since then. Default: all that are known.",
    schema: { type: "integer", minimum: 0 },
  },
  wait: {
    kind: "number",
    description:
      "Answer when there are lines after `after`, or the deployment is over; at the latest after this number of seconds.",
    schema: { type: "number", minimum: 0, maximum: 60 },
  },
} as const satisfies Parameters;

export const HISTORY = {
  limit: {
    kind: "number",
    description: "Maximum number of entries.",
    schema: { type: "integer", minimum: 1, maximum: 100, default: 100 },
  },
} as const satisfies Parameters;

export const DIFF = {
  to: {
    kind: "text",
    description: "A number, `active` or `previous`. Default: the files as they are now.",
    schema: { type: "string", minLength: 1, maxLength: 20 },
  },
} as const satisfies Parameters;

export const ROLLBACK = {
  ...WAIT,
  to: {
    ...DIFF.to,
    description: "A number, `active` or `previous`. Default: `active`, if the files differ from it, else `previous`.",
  },
  force: {
    kind: "flag",
    description:
      "`1`: also if an included file has changes that are not committed, or the entry is of another machine.",
    schema: { type: "boolean" },
  },
  dryRun: {
    kind: "flag",
    description: "`1`: changes nothing, and answers with what it would do, or refuses by the same errors.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

export const START = {
  ...WAIT,
  withDependencies: {
    kind: "flag",
    description: "`1`: first start what the process depends on, unless it is running.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

export const RESTART = {
  ...WAIT,
  hard: {
    kind: "flag",
    description: "`1`: all instances of a cluster at once, instead of one after another.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

const TIME_SCHEMA = { type: "string", pattern: TIME_PATTERN } as const;

const TIMES = {
  from: { kind: "time", description: "From this time on (ISO 8601, or milliseconds since 1970).", schema: TIME_SCHEMA },
  to: { kind: "time", description: "Before this time.", schema: TIME_SCHEMA },
} as const satisfies Parameters;

const TEXTS: JsonSchema = {
  type: "array",
  items: { type: "string", minLength: 1, maxLength: 1_000 },
  maxItems: 20,
};

export const LOGS = {
  process: {
    kind: "list",
    description: "Processes, instances or clusters, separated by commas. Default: all.",
    schema: { type: "array", items: { type: "string", maxLength: 80 }, maxItems: 1_000 },
  },
  severity: {
    kind: "text",
    description: "At least this severe, by what a line says, else by its stream.",
    schema: { type: "string", enum: SEVERITIES },
  },
  category: {
    kind: "list",
    description: "Where the lines come from, separated by commas. Default: all.",
    schema: { type: "array", items: { type: "string", enum: CATEGORIES } },
  },
  from: TIMES.from,
  to: { ...TIMES.to, description: "Before this time. Not with `follow=1`, which has no end." },
  search: {
    kind: "text",
    description: "A part of the text, ignoring case.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  where: {
    kind: "texts",
    description:
      "A condition on a field of a line of JSON, such as `status>=500` or `req.id=7`, with `=`, `!=`, `>`, `>=`, `<` or `<=`. Given several times, all must hold.",
    schema: TEXTS,
  },
  regex: {
    kind: "texts",
    description:
      "A regular expression in the syntax of RE2, which matches a part of the text. Given several times, all must match.",
    schema: TEXTS,
  },
  limit: {
    kind: "number",
    description:
      "Maximum number of entries. A page has fewer if they have more than 4 MiB of text; the rest is on the next page.",
    schema: { type: "integer", minimum: 1, maximum: 10_000, default: 100 },
  },
  cursor: {
    kind: "text",
    description: "Cursor of the previous page: continue after it, without gap or repeat.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  order: {
    kind: "text",
    description: "`desc`: newest first; not with `follow=1`, which sends the oldest first.",
    schema: { type: "string", enum: ["asc", "desc"], default: "desc" },
  },
  follow: {
    kind: "flag",
    description:
      "`1`: a stream of stored entries, then of new ones, oldest first. With `to` or `order=desc` it is refused with 400.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

export const EXEC = {
  follow: {
    kind: "flag",
    description: "`1`: a stream of what the command writes, and its end, in place of one record.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

export const FLUSH = {
  process: {
    ...LOGS.process,
    description:
      "Processes, instances, clusters or groups, separated by commas: their log files alone. Default: all, with the stored log.",
  },
} as const satisfies Parameters;

export const METRICS = {
  ...TIMES,
  step: {
    kind: "number",
    description: "Seconds: points within this time are combined into one.",
    schema: { type: "number", minimum: 1, maximum: 86_400 },
  },
} as const satisfies Parameters;

export const INCIDENTS = {
  limit: {
    kind: "number",
    description: "Maximum number. Default: 20.",
    schema: { type: "integer", minimum: 1, maximum: 1_000 },
  },
} as const satisfies Parameters;

export const RUNS = {
  limit: {
    kind: "number",
    description: "Maximum number of runs.",
    schema: { type: "integer", minimum: 1, maximum: 1_000, default: 20 },
  },
  cursor: LOGS.cursor,
} as const satisfies Parameters;

export const HEALTH = {
  process: {
    kind: "text",
    description:
      "200 only if this process or instance is up: running, ready, and healthy by its checks; else 503, also for an unknown id. Of a cluster one instance is enough; of `all` each process that was asked for.",
    schema: { type: "string", minLength: 1, maxLength: 80 },
  },
} as const satisfies Parameters;

export const EVENTS = {
  after: {
    kind: "text",
    description:
      "Id of an event: first send the events after it that are still known. The header `Last-Event-ID` does the same.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  types: {
    kind: "list",
    description: "Types of events, separated by commas. Default: all but `log`, the lines of the log.",
    schema: { type: "array", items: { type: "string", enum: EVENT_TYPES } },
  },
} as const satisfies Parameters;
