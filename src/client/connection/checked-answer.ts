/** Answers of other machines, checked against the schemas of the API before anything uses them. */
import { ProcmanError } from "../../core/base/errors.ts";
import type { JsonSchema } from "../../core/base/schema.ts";
import { faultsOf, isObject, matches } from "../../core/base/schema-check.ts";
import { SCHEMAS } from "../../core/contract/record-schemas.ts";
import type { Output, Route } from "../../core/contract/route.ts";
import { ROUTES, type RouteName } from "../../core/contract/routes.ts";

const DEFINITIONS = "#/components/schemas/";

/** Schemas of the document, each with what it refers to. */
const whole = new Map<string, JsonSchema>();

/** @throws {ProcmanError} `service-down`: it is not an answer, or item of a stream, of this route */
export function checkAnswer(name: string, value: unknown, isItem = false): void {
  const { output, follow } = ROUTES[name as RouteName] as Route;
  const schema = schemaOf(isItem ? (follow?.output ?? output) : output);
  if (matches(value, schema) || (isItem && isOfLaterVersion(name, value))) return;
  const [fault] = faultsOf(value, schema, "it");
  throw new ProcmanError("service-down", `Cannot understand the answer: ${fault?.place} ${fault?.message}`);
}

/** A type of events that this version doesn't know. */
function isOfLaterVersion(name: string, value: unknown): boolean {
  const known = SCHEMAS.EventRecord.oneOf?.map(({ properties }) => properties?.type?.const);
  return (
    name === "events" && isObject(value) && typeof value.type === "string" && known?.includes(value.type) === false
  );
}

function schemaOf(output: Output): JsonSchema {
  if (!("schema" in output) || output.schema === undefined) return { type: "object" };
  const one = wholeOf(output.schema);
  return output.kind === "json" && output.list ? listOf(one) : one;
}

const lists = new WeakMap<JsonSchema, JsonSchema>();

/** The same each time, as checks are compiled once for each schema. */
function listOf(items: JsonSchema): JsonSchema {
  const known = lists.get(items) ?? { type: "array", items };
  lists.set(items, known);
  return known;
}

function wholeOf(name: string): JsonSchema {
  const known = whole.get(name);
  if (known !== undefined) return known;
  // Known before its parts are: a record has records of its own kind.
  const made: Record<string, unknown> = {};
  whole.set(name, made as JsonSchema);
  return Object.assign(made, withDefinitions((SCHEMAS as Readonly<Record<string, JsonSchema>>)[name])) as JsonSchema;
}

function withDefinitions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withDefinitions);
  if (!isObject(value)) return value;
  if (typeof value.$ref === "string") return wholeOf(value.$ref.slice(DEFINITIONS.length));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withDefinitions(part)]));
}
