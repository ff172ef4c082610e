/** Descriptions for the JSON schema of the configuration file. Not for the running service. */
import { fields } from "./fields.ts";

export type Json = { [key: string]: Json | Json[] | string | number | boolean | null | undefined };

/** Paths of all fields, as `processes[].cluster.instances`, with the part of the schema that is theirs. */
export function fieldsOf(schema: Json, path = ""): readonly (readonly [string, Json])[] {
  const members = Object.entries((schema.properties ?? {}) as Json).flatMap(([key, member]) =>
    fieldsOf(member as Json, path === "" ? key : `${path}.${key}`),
  );
  const items = schema.items as Json | undefined;
  const entries = items?.properties === undefined ? [] : fieldsOf(items, `${path}[]`);
  const branches = ((schema.anyOf ?? []) as Json[]).flatMap((branch) => fieldsOf(branch, path).filter(([inner]) => inner !== path));
  return [[path, schema], ...members, ...entries, ...branches];
}

/** What `schema.json` holds: the schema that zod derives, with words, defaults, and "exactly one of cmd and worker". */
export function described(schema: Json): Json {
  const copy = structuredClone(schema);
  for (const [path, part] of fieldsOf(copy)) Object.assign(part, fields[path]);
  const processes = (copy.properties as Json).processes as Json;
  Object.assign(processes.items as Json, { oneOf: [{ required: ["cmd"] }, { required: ["worker"] }] });
  const { $schema = "", ...rest } = copy;
  // Not of the standard: VS Code asks for it, comments it accepts in .jsonc anyway.
  return { $schema, title: "procman configuration", allowTrailingCommas: true, ...rest };
}
