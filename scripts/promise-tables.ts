/** What docs/reference/reliability.md promises, made of the tables that the source has. */
import type { Argument, Command, Option } from "commander";
import { GROUPS } from "../src/cli/commands.ts";
import { ERRORS, EXIT } from "../src/core/base/errors.ts";
import { configuration } from "../src/core/config/config-schema.ts";
import { EVENT_MEANINGS } from "../src/core/contract/event-record.ts";
import { SCHEMAS } from "../src/core/contract/record-schemas.ts";
import type { Output, Route } from "../src/core/contract/route.ts";
import { ROUTES } from "../src/core/contract/routes.ts";
import { payloadOf, SCOPES } from "../src/core/contract/token-claims.ts";
import { SHIPPED_OPTIONS } from "../src/core/plugins/shipped/shipped-plugins.ts";
import { environmentOf } from "../src/core/service/spawn/environment.ts";
import { exitVariables } from "../src/core/service/spawn/hooks.ts";
import { definedCommands } from "./command-tables.ts";
import { VARIABLES } from "./manual.ts";
import { metricFamilies } from "./metric-families.ts";
import { promisedEntries, promisedExports } from "./promised-exports.ts";
import { MAY_BE_ABSENT, type PromisedNames, promisedMembers } from "./promised-schemas.ts";

/** By the kind of promise. */
export type Promises = Readonly<Record<string, PromisedNames>>;

const routes = Object.values(ROUTES as Readonly<Record<string, Route>>);

export async function promises(): Promise<Promises> {
  return {
    commands: commands(await definedCommands()),
    "exit codes": named(Object.entries(EXIT).map(([name, code]) => [name, [String(code)]])),
    "codes of errors": named(
      Object.entries(ERRORS).map(([name, { status, exit }]) => [name, [`HTTP ${status}`, `exit code ${exit}`]]),
    ),
    "fields of the configuration": promisedMembers(configuration, "input"),
    "options of plugins": merged(
      Object.entries(SHIPPED_OPTIONS).map(([name, schema]) => promisedMembers(schema, "input", name)),
    ),
    routes: merged(routes.map(promisedRoute)),
    "bodies of requests": merged(
      routes.flatMap(({ body }) => (body ? [promisedMembers(body.schema, "input", body.name)] : [])),
    ),
    records: records(),
    events: named(Object.keys(EVENT_MEANINGS).map((type) => [type, []])),
    metrics: named(
      metricFamilies().map(({ name, type, labels }) => [name, [type, ...labels.map((label) => `label ${label}`)]]),
    ),
    tokens: tokens(),
    "variables of a process": named(variablesOfProcess().map((name) => [name, []])),
    "variables that procman reads": named(VARIABLES.map(([name]) => [name, []])),
    "entries of the package": promisedEntries(),
    exports: promisedExports(Object.keys(SCHEMAS)),
  };
}

function named(rows: readonly (readonly [name: string, facts: readonly string[]])[]): PromisedNames {
  return Object.fromEntries(rows.map(([name, facts]) => [name, { facts }]));
}

function merged(parts: readonly PromisedNames[]): PromisedNames {
  return Object.assign({}, ...parts) as PromisedNames;
}

/** `run`, `run argument 1`, `run --config`; with further commands also `host add` and theirs. */
function commands(defined: readonly Command[]): PromisedNames {
  const inner = (command: Command, name: string): PromisedNames =>
    merged([
      { [name]: { facts: command.aliases().map((alias) => `also ${alias}`) } },
      ...command.registeredArguments.map((argument, index) => ({
        [`${name} argument ${index + 1}`]: promisedArgument(argument),
      })),
      ...command.options
        .filter(({ hidden }) => !hidden)
        .map((option) => ({ [`${name} ${option.long ?? option.short}`]: promisedOption(option) })),
      ...command.commands.map((each) => inner(each, `${name} ${each.name()}`)),
    ]);
  // `help` and `version` have no definition.
  const listed = named(GROUPS.flatMap((group) => Object.keys(group.commands).map((name) => [name, []] as const)));
  return merged([listed, ...defined.map((command) => inner(command, command.name()))]);
}

function promisedArgument({ required, variadic, argChoices = [] }: Argument): PromisedNames[string] {
  const facts = [...(variadic ? ["may be repeated"] : []), ...argChoices];
  return required ? { facts, mustBeGiven: true } : { facts: [...facts, MAY_BE_ABSENT] };
}

function promisedOption({
  short,
  long,
  required,
  optional,
  variadic,
  mandatory,
  argChoices = [],
  defaultValue,
}: Option): PromisedNames[string] {
  const facts = [
    ...(short && long ? [short] : []),
    required ? "takes a value" : optional ? "may take a value" : "takes no value",
    ...(variadic ? ["may be repeated"] : []),
    ...argChoices,
    ...(defaultValue === undefined ? [] : [`default ${JSON.stringify(defaultValue)}`]),
  ];
  return mandatory ? { facts, mustBeGiven: true } : { facts: [...facts, MAY_BE_ABSENT] };
}

function promisedRoute({ method, path, scope, status, output, body, parameters, follow }: Route): PromisedNames {
  const name = `${method} ${path}`;
  const facts = [
    `scope ${scope ?? "none"}`,
    `status ${status}`,
    answerOf(output),
    ...(follow ? [answerOf(follow.output)] : []),
    ...(body ? [`body ${body.name}`] : []),
  ];
  const queries = Object.entries(parameters).map(([parameter, { kind, schema }]) => {
    const members = promisedMembers(schema, "input", parameter);
    const words = [...new Set(Object.values(members).flatMap((each) => each.facts))].filter((fact) =>
      /^["d]/.test(fact),
    );
    return { [`${name} ?${parameter}`]: { facts: [kind, ...words, MAY_BE_ABSENT] } };
  });
  return merged([{ [name]: { facts } }, ...queries]);
}

function answerOf(output: Output): string {
  if (output.kind === "text" || output.kind === "file") return `answers ${output.type}`;
  if (output.schema === undefined) return "answers JSON";
  if (output.kind === "stream") return `answers a stream of ${output.schema}`;
  return output.list ? `answers a list of ${output.schema}` : `answers ${output.schema}`;
}

/** What procman answers with: all schemas but those that only a request has. */
function records(): PromisedNames {
  const ofRequests = new Set<string>(routes.flatMap(({ body }) => (body ? [body.name] : [])));
  ofRequests.delete("TelemetryReport");
  const answered = Object.entries(SCHEMAS).filter(([name]) => !ofRequests.has(name));
  return merged(answered.map(([name, schema]) => promisedMembers(schema, "output", name)));
}

function tokens(): PromisedNames {
  const limits = { processes: [], groups: [] };
  const given = { audience: "", consumer: "", scopes: SCOPES, expires: 0, process: "", user: "" };
  const claims = new Set(
    [payloadOf(given), payloadOf({ ...given, limits })].flatMap((payload) => Object.keys(payload)),
  );
  return named([
    ...SCOPES.map((scope) => [`scope ${scope}`, []] as const),
    ...[...claims].map((claim) => [`claim ${claim}`, []] as const),
    ...Object.keys((payloadOf({ ...given, limits }) as { readonly limited: object }).limited).map(
      (name) => [`claim limited.${name}`, []] as const,
    ),
  ]);
}

/** Of an instance of a cluster, with all that a run can have, and of its hook after the end. */
function variablesOfProcess(): readonly string[] {
  const place = { cwd: "/", path: [], id: "web-1", marker: "", stateDir: "/" };
  const api = { address: { hostname: "", port: 1, tls: true }, socket: "/", token: "" } as const;
  const run = environmentOf({ ...place, env: {}, cluster: { id: "web", index: 0, port: 1 } as never, api });
  const ended = { kind: "exited", code: 0, signal: "SIGTERM" } as const;
  return [...Object.keys(run), ...Object.keys(exitVariables(ended as never))];
}
