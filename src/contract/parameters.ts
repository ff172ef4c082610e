/** The query parameters of the routes that have any. */
import { EVENT_TYPES } from "./event-record.ts";
import type { Parameters } from "./query.ts";
import { CATEGORIES, SEVERITIES } from "./records.ts";

const WAIT_LIMIT_SECONDS = 3_600;

export const WAIT = {
  wait: {
    kind: "number",
    description: "Answer when the target state is reached, after so many seconds at most (then 504). Without it the answer comes at once.",
    schema: { type: "number", minimum: 0, maximum: WAIT_LIMIT_SECONDS },
  },
} as const satisfies Parameters;

export const PLAN = {
  profile: {
    kind: "text",
    description: "What it would do with this profile of the file. Without it: with the one that procman was run with, if any.",
    schema: { type: "string", minLength: 1, maxLength: 200 },
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

const TIMES = {
  from: { kind: "time", description: "From this time on (ISO 8601, or milliseconds since 1970).", schema: { type: "string" } },
  to: { kind: "time", description: "Before this time.", schema: { type: "string" } },
} as const satisfies Parameters;

export const LOGS = {
  process: {
    kind: "list",
    description: "Processes, instances or clusters, separated by commas. Default: all.",
    schema: { type: "array", items: { type: "string", maxLength: 80 }, maxItems: 1_000 },
  },
  severity: { kind: "text", description: "At least this severe.", schema: { type: "string", enum: SEVERITIES } },
  category: {
    kind: "list",
    description: "Where the lines come from, separated by commas. Default: all.",
    schema: { type: "array", items: { type: "string", enum: CATEGORIES } },
  },
  ...TIMES,
  search: {
    kind: "text",
    description: "A part of the text, upper and lower case alike.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  limit: {
    kind: "number",
    description: "So many lines; fewer, and a next page, where they have more than 4 MiB of text.",
    schema: { type: "integer", minimum: 1, maximum: 10_000, default: 100 },
  },
  cursor: {
    kind: "text",
    description: "Of the page before: goes on after it, without gap or repeat.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  order: { kind: "text", description: "`desc`: newest first.", schema: { type: "string", enum: ["asc", "desc"], default: "desc" } },
  follow: {
    kind: "flag",
    description: "`1`: a stream of what is stored, then of what comes; without `to`, and oldest first.",
    schema: { type: "boolean" },
  },
} as const satisfies Parameters;

export const METRICS = {
  ...TIMES,
  step: {
    kind: "number",
    description: "Seconds: points are put together to one each so long.",
    schema: { type: "number", minimum: 1, maximum: 86_400 },
  },
} as const satisfies Parameters;

export const INCIDENTS = {
  limit: { kind: "number", description: "So many.", schema: { type: "integer", minimum: 1, maximum: 1_000 } },
} as const satisfies Parameters;

export const EVENTS = {
  after: {
    kind: "text",
    description: "Id of an event: what came after it first, as far as it is still known. The header `Last-Event-ID` does the same.",
    schema: { type: "string", minLength: 1, maxLength: 1_000 },
  },
  types: {
    kind: "list",
    description: "Types of events, separated by commas. Default: all but `log`, the lines of the log.",
    schema: { type: "array", items: { type: "string", enum: EVENT_TYPES } },
  },
} as const satisfies Parameters;
