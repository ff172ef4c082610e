/** What follows from the table of configuration fields. */
import { type JsonSchema, standardSchema } from "../src/core/base/schema.ts";
import { HEALTH_KINDS, READY_KINDS } from "../src/core/config/checks/probe-checks.ts";
import { API, configuration, TOP } from "../src/core/config/config-schema.ts";
import { CLUSTER } from "../src/core/config/fields/cluster-fields.ts";
import type { Field, Fields } from "../src/core/config/fields/field.ts";
import { LOGGER } from "../src/core/config/fields/logger-fields.ts";
import { READY } from "../src/core/config/fields/probe-fields.ts";
import { INHERITABLE, PROCESS } from "../src/core/config/fields/process-fields.ts";
import { typesOf } from "./schema-types.ts";

/** Paths of all fields, as `processes[].cluster.instances`, with their schemas. */
export function fieldsOf(schema: JsonSchema = configuration, path = ""): readonly (readonly [string, JsonSchema])[] {
  const { properties = {}, items, anyOf = [] } = schema;
  const members = Object.entries(properties).flatMap(([key, member]) =>
    fieldsOf(member, path === "" ? key : `${path}.${key}`),
  );
  const entries = items?.properties === undefined ? [] : fieldsOf(items, `${path}[]`);
  const branches = anyOf.flatMap((branch) => fieldsOf(branch, path).filter(([inner]) => inner !== path));
  return [[path, schema], ...members, ...entries, ...branches];
}

/** Objects with fields, by their paths; equal ones once. Those of `defaults` are those of a process. */
export function objectsOf(): readonly (readonly [string, JsonSchema])[] {
  const objects = new Map<string, [string, JsonSchema]>();
  for (const [path, schema] of fieldsOf().filter(([path]) => !/^defaults\b/.test(path)))
    for (const each of [schema, ...(schema.anyOf ?? [])].filter(({ properties }) => properties !== undefined)) {
      const key = JSON.stringify(each.properties);
      const known = objects.get(key);
      if (known === undefined) objects.set(key, [path || "The file", each]);
      else if (!known[0].split(", ").includes(path)) known[0] += `, ${path}`;
    }
  return [...objects.values()];
}

/** In words, for people. */
export function allowedValues({ allowed, enum: words, const: only, anyOf = [], type, properties }: JsonSchema): string {
  if (allowed !== undefined) return allowed;
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(", ");
  if (only !== undefined) return JSON.stringify(only);
  if (anyOf.length > 0) return anyOf.map(allowedValues).join(" or ");
  return properties === undefined ? (type ?? "any value") : `an object with ${Object.keys(properties).join(", ")}`;
}

/** What `schema.json` holds: the schema, and where exactly one of several fields must be there. */
export function schemaJson(): object {
  const schema = withReferences(standardSchema(configuration)) as {
    readonly properties: Readonly<Record<string, JsonSchema>>;
  };
  const { processes, defaults } = schema.properties;
  const { items: process = {} } = processes ?? {};
  const { ready = {}, health = {} } = process.properties ?? {};
  const probes = { ready: withOneAtMost(ready, READY_KINDS), health: withOneAtMost(health, HEALTH_KINDS) };
  const items = {
    ...withNull({ ...process, properties: { ...process.properties, ...probes } }),
    anyOf: ["cmd", "worker", "extends"].map((name) => having([name])),
    not: having(["cmd", "worker"]),
  };
  const own = Object.keys(defaults?.properties ?? {}).map((name) => [
    name,
    { $ref: `#/properties/processes/items/properties/${name}` },
  ]);
  // `allowTrailingCommas` is not of the standard: VS Code asks for it, comments it accepts in .jsonc anyway.
  const head = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "procman configuration",
    allowTrailingCommas: true,
  };
  const properties = {
    ...schema.properties,
    processes: { ...processes, items },
    defaults: { ...defaults, properties: Object.fromEntries(own) },
  };
  return { ...head, ...schema, properties };
}

/** `null` removes a field or variable that is inherited, and a field of a section. */
function withNull(section: JsonSchema): JsonSchema {
  const { properties, required = [], additionalProperties, anyOf } = section;
  const members = Object.entries(properties ?? {}).map(([name, member]) => {
    const inner = withNull(member);
    return [name, required.includes(name) ? inner : orNull(inner)];
  });
  return {
    ...section,
    ...(properties && { properties: Object.fromEntries(members) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: orNull(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(withNull) }),
  };
}

function orNull({ description, default: standard, anyOf, ...schema }: JsonSchema): JsonSchema {
  return {
    ...(description !== undefined && { description }),
    ...(standard !== undefined && { default: standard }),
    ...(anyOf === undefined ? {} : schema),
    anyOf: [...(anyOf ?? [schema]), { type: "null" }],
  };
}

const REFERENCE: JsonSchema = {
  type: "string",
  pattern: "\\$\\{[A-Za-z_]\\w*(:?-[^}]*)?\\}",
};

/** Numbers and booleans may be written as `"${NAME:-2}"`. */
function withReferences(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, anyOf } = schema;
  const { description, default: defaultValue, ...bare } = schema;
  const isTyped = ({ type }: JsonSchema): boolean => type === "number" || type === "integer" || type === "boolean";
  if (isTyped(schema))
    return {
      ...(description !== undefined && { description }),
      ...(defaultValue !== undefined && { default: defaultValue }),
      anyOf: [bare, REFERENCE],
    };
  const takesAll = anyOf?.some(
    ({ type, pattern, const: only, enum: words }) =>
      type === "string" && [pattern, only, words].every((part) => part === undefined),
  );
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, withReferences(member)]),
      ),
    }),
    ...(items && { items: withReferences(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: withReferences(additionalProperties) }),
    ...(anyOf && {
      anyOf: [
        ...anyOf.map((branch) => (isTyped(branch) ? branch : withReferences(branch))),
        ...(anyOf.some(isTyped) && takesAll !== true ? [REFERENCE] : []),
      ],
    }),
  };
}

/** One of these fields; or none, which the object may inherit. */
function withOneAtMost(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const others = Object.keys(schema.properties ?? {}).filter((name) => !names.includes(name));
  return { ...schema, oneOf: [...names.map((name) => having([name])), { propertyNames: { enum: others } }] };
}

/** It has the properties themselves, as the strict mode of ajv demands. */
function having(names: readonly string[]): JsonSchema {
  return { required: names, properties: Object.fromEntries(names.map((name) => [name, {}])) };
}

/** The names of the library's types, by the path of their object. */
const TYPE_NAMES: Readonly<Record<string, string>> = {
  "processes[].logger.rotate": "RotationConfiguration",
  "logger.rotate": "RotationConfiguration",
  "processes[].logger": "LoggerConfiguration",
  logger: "GlobalLoggerConfiguration",
  "processes[].envFile": "EnvFileConfiguration",
  "processes[].envFile[]": "EnvFileConfiguration",
  envFile: "EnvFileConfiguration",
  "envFile[]": "EnvFileConfiguration",
  "processes[].ulimits": "UlimitsConfiguration",
  "processes[].ready": "ReadyConfiguration",
  "processes[].health": "HealthConfiguration",
  "processes[].hooks.beforeStart": "HookConfiguration",
  "processes[].hooks.afterStop": "HookConfiguration",
  "processes[].hooks": "HooksConfiguration",
  "processes[].dependsOn[]": "DependencyConfiguration",
  "processes[].cluster": "ClusterConfiguration",
  "processes[].scale.schedules[]": "SizeScheduleConfiguration",
  "processes[].scale": "ScaleConfiguration",
  "processes[].watcher": "WatcherConfiguration",
  "processes[]": "ProcessConfiguration",
  watcher: "WatcherConfiguration",
  "plugins[]": "PluginConfiguration",
  "api.group": "GroupConfiguration",
  "api.tls": "TlsConfiguration",
  api: "ApiConfiguration",
  "": "Configuration",
};

/** The types of `generated/configuration.ts`, innermost first. */
export function libraryTypes(): string {
  const { processes = {}, defaults: { description = "" } = {} } = configuration.properties ?? {};
  const properties = {
    ...configuration.properties,
    processes: { ...processes, items: withNull(processes.items ?? {}) },
    defaults: { description, $ref: "DefaultsConfiguration" },
  };
  const own = Object.keys(PROCESS).filter((name) => !Object.hasOwn(INHERITABLE, name));
  const names = own.map((name) => JSON.stringify(name)).join(" | ");
  return [
    typesOf({ "": { ...configuration, properties } }, TYPE_NAMES, " | undefined"),
    `/** ${description} */\nexport type DefaultsConfiguration = Omit<ProcessConfiguration, ${names}>;`,
  ].join("\n\n");
}

/** What a reload does with a change of each field, as a table of Markdown. */
export function changeTable(): string {
  const { cluster: _, ...process } = PROCESS;
  const ofProcess = (effect: Field["onChange"]): string =>
    [...named(process, effect), ...named(CLUSTER, effect, "cluster."), ...named(READY, effect, "ready.")].join(", ");
  const ofAll = (effect: Field["onChange"]): string =>
    [...named(TOP, effect), ...named(LOGGER, effect, "logger."), ...named(API, effect, "api.")].join(", ");
  return [
    "| changed | what happens |",
    "|---|---|",
    `| of a process: ${ofProcess("restart")} | the process is restarted: a run has it from its start |`,
    `| of a process: ${ofProcess("live")} | it applies at once, also to running processes |`,
    `| of all: ${ofAll("live")} | it applies at once |`,
    `| of all: ${ofAll("next-run")} | it applies when procman was terminated and is run again |`,
  ].join("\n");
}

function named(fields: Fields, effect: Field["onChange"], prefix = ""): readonly string[] {
  return Object.entries(fields).flatMap(([name, { onChange }]) =>
    onChange === effect ? [`\`${prefix}${name}\``] : [],
  );
}
