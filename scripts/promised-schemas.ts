/** What a schema promises: the members of its objects, with their types and defaults. */
import type { JsonSchema } from "../src/core/base/schema.ts";
import { branchesOf } from "../src/core/base/schema.ts";

/** A name that users rely on, and what they may rely on. Each fact stays in later versions; new ones may be added. */
export type Promised = { readonly facts: readonly string[]; readonly mustBeGiven?: true };

export type PromisedNames = Readonly<Record<string, Promised>>;

/** `input`: users write it, so a member that may be absent stays so; `output`: users read it, so a member that is always there stays so. */
type Direction = "input" | "output";

export const MAY_BE_ABSENT = "may be absent";

/** By path, as `processes[].cluster.instances`; `root`: what the path begins with. */
export function promisedMembers(schema: JsonSchema, direction: Direction, root = ""): PromisedNames {
  const found: Record<string, Promised> = {};
  for (const [path, { facts, mustBeGiven }] of findings(schema, direction, root)) {
    const known = found[path];
    const isDemanded = mustBeGiven ?? known?.mustBeGiven;
    found[path] = {
      facts: [...new Set([...(known?.facts ?? []), ...facts])],
      ...(isDemanded && { mustBeGiven: isDemanded }),
    };
  }
  return found;
}

/** A path comes several times if its values have alternatives. */
function* findings(
  schema: JsonSchema,
  direction: Direction,
  path: string,
): Generator<readonly [path: string, Promised]> {
  const { items, additionalProperties: values, properties = {}, required = [] } = schema;
  if (path !== "") yield [path, { facts: factsOf(schema) }];
  for (const branch of branchesOf(schema)) yield* findings(branch, direction, path);
  if (items !== undefined) yield* findings(items, direction, `${path}[]`);
  if (typeof values === "object") yield* findings(values, direction, `${path}{}`);
  for (const [name, member] of Object.entries(properties)) {
    const inner = path === "" ? name : `${path}.${name}`;
    yield [inner, presence(direction, required.includes(name))];
    yield* findings(member, direction, inner);
  }
}

function presence(direction: Direction, isRequired: boolean): Promised {
  if (direction === "output") return { facts: isRequired ? ["always there"] : [] };
  return isRequired ? { facts: [], mustBeGiven: true } : { facts: [MAY_BE_ABSENT] };
}

/** Of the schema itself, without its members and alternatives. Ranges and patterns are not among them: a wider one is not a break. */
function factsOf({
  $ref,
  type,
  const: only,
  enum: words,
  default: standard,
  allowed = "",
}: JsonSchema): readonly string[] {
  const [, unit] = /^a number of (\w+)/.exec(allowed) ?? [];
  return [
    ...($ref === undefined ? [] : [$ref.split("/").at(-1) as string]),
    ...(words ?? []).map((word) => JSON.stringify(word)),
    ...(only === undefined ? [] : [JSON.stringify(only)]),
    ...(type === undefined || words !== undefined || only !== undefined ? [] : [type]),
    ...(unit === undefined ? [] : [`in ${unit}`]),
    ...(standard === undefined ? [] : [`default ${JSON.stringify(standard)}`]),
  ];
}
