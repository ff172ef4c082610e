/** What a route takes after the `?`: how each parameter is written, read and described. */
import { type Fault, ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import { faultsOf, type JsonSchema, MOST_FAULTS } from "./json-schema.ts";

/** `number` and `flag` (1, 0, true, false) are read from text, `time` is ISO 8601 or milliseconds since 1970, `list` may be repeated and separated by commas. */
type Kind = "text" | "number" | "flag" | "time" | "list";

export type Parameter = { readonly kind: Kind; readonly description: string; readonly schema: JsonSchema };

export type Parameters = Readonly<Record<string, Parameter>>;

type Value<P extends Parameter> = P extends { readonly kind: "number" | "time" }
  ? number
  : P extends { readonly kind: "flag" }
    ? boolean
    : P extends { readonly kind: "list" }
      ? readonly string[]
      : string;

/** What was read: members that were not given are absent. */
export type Values<P extends Parameters> = { readonly [name in keyof P]?: Value<P[name]> };

/** The values of a query (without `?`). @throws {ProcmanError} `input-invalid` with all faults */
export function readQuery(text: string, parameters: Parameters): Readonly<Record<string, unknown>> {
  const faults: Fault[] = [];
  const values: Record<string, unknown> = {};
  if (/%(?![0-9a-f]{2})/i.test(text)) faults.push({ place: "query", message: 'has a "%" that begins no escape; write it as %25' });
  const given = new URLSearchParams(text);
  for (const name of new Set(given.keys())) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    const place = `query.${name.slice(0, 64)}`;
    if (parameter === undefined) faults.push({ place, message: `is not known.${didYouMean(name, Object.keys(parameters))}` });
    else values[name] = readValue(given.getAll(name), parameter, { place, faults });
  }
  if (faults.length > 0) throw invalid(faults);
  return values;
}

export function invalid(faults: readonly Fault[]): ProcmanError {
  const [first, ...others] = faults;
  const message = first?.message.replace(/\.$/, "") ?? "";
  const more = others.length === 0 ? "" : message.endsWith("?") ? ` And ${others.length} more` : `; and ${others.length} more`;
  return new ProcmanError("input-invalid", `Cannot take this request: "${first?.place}" ${message}${more}`, {
    faults: faults.slice(0, MOST_FAULTS),
  });
}

/** A query as `readQuery` takes it; empty when there is nothing to say. */
export function writeQuery(values: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>): string {
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
  at: { readonly place: string; readonly faults: Fault[] },
): unknown {
  if (kind !== "list" && texts.length > 1) at.faults.push({ place: at.place, message: `is given ${texts.length} times; give it once` });
  const value = kind === "list" ? texts.flatMap((text) => text.split(",")).filter((text) => text !== "") : valueIn(texts[0] ?? "", kind);
  if (kind === "time" && value === undefined)
    at.faults.push({ place: at.place, message: "must be a time as 2026-01-31T12:00:00Z, or milliseconds since 1970" });
  else at.faults.push(...faultsOf(value, kind === "time" ? {} : schema, at.place));
  return value;
}

/** What can't be read stays text, and is not valid then. */
function valueIn(text: string, kind: Kind): unknown {
  if (kind === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (kind === "flag") return text === "1" || text === "true" ? true : text === "0" || text === "false" ? false : text;
  return kind === "time" ? timeOf(text) : text;
}

/** In a query a "+" stands for a space, also where somebody meant a time zone. */
function timeOf(text: string): number | undefined {
  const time = /^\d{1,16}$/.test(text) ? Number(text) : Date.parse(text.replace(/ (?=\d\d:?\d\d$)/, "+"));
  return Number.isNaN(time) || time > 8.64e15 || !/^\d/.test(text) ? undefined : time;
}
