/** The OpenAPI 3.1 document of a table of routes. */
import type { JsonSchema } from "../base/schema.ts";
import { VERSION } from "../base/version.ts";
import { reasonPhrase } from "./http-status.ts";
import { SCHEMAS } from "./record-schemas.ts";
import type { Output, Route } from "./route.ts";

type OpenApiJson = { readonly [name: string]: unknown };

/** Error statuses of every route, of those that need a token, and of those that may have a body. */
const ERRORS = [400, 403, 408, 417, 429, 431, 500];
const TOKEN_ERRORS = [401];
const BODY_ERRORS = [413];

/** The document that `GET /openapi.json` answers with. */
export function openApi(routes: Readonly<Record<string, Route>>): OpenApiJson {
  const paths: Record<string, Record<string, OpenApiJson>> = {};
  for (const [name, route] of Object.entries(routes))
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation(name, route) };
  return {
    openapi: "3.1.0",
    info: {
      title: "procman",
      version: VERSION,
      description:
        "Control of a running procman. Times are ISO 8601 in UTC; durations and sizes name their unit; members without a value are absent.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", bearerFormat: "JWT", description: "Of `procman token`." },
      },
      schemas: SCHEMAS,
    },
  };
}

function operation(name: string, route: Route): OpenApiJson {
  const { scope, orScope = "admin", summary, description, body, status, output, errors, follow } = route;
  const parameters = parametersOf(route);
  const descriptions = [
    description,
    scope === undefined ? "Needs no token." : `Needs the scope \`${scope}\` (or \`${orScope}\`).`,
  ];
  return {
    operationId: name,
    summary,
    description: descriptions.filter(Boolean).join(" "),
    ...(scope === undefined ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: reference(body.name) } } } }),
    responses: {
      [status]: {
        description: summary,
        content: { ...contentOf(output), ...(follow && contentOf(follow.output)) },
      },
      ...Object.fromEntries(
        [
          ...ERRORS,
          ...(scope === undefined ? [] : TOKEN_ERRORS),
          ...(route.method === "POST" ? BODY_ERRORS : []),
          ...errors,
          ...(isLimited(route) ? [503] : []),
        ].map((error) => [error, problem(error)]),
      ),
    },
  };
}

function parametersOf({ path, idMeaning, parameters, output, follow }: Route): readonly OpenApiJson[] {
  const id = {
    name: "id",
    in: "path",
    required: true,
    description: idMeaning ?? "A process, an instance, a cluster or `all`.",
    schema: { type: "string" },
  };
  const queries = Object.entries(parameters).map(([name, { kind, description, schema }]) => ({
    name,
    in: "query",
    description,
    schema,
    ...(kind === "list" ? { style: "form", explode: false } : {}),
  }));
  const lastEventId = {
    name: "Last-Event-ID",
    in: "header",
    description: "Id of the last event that was received.",
    schema: { type: "string" },
  };
  const hasStream = output.kind === "stream" || follow !== undefined;
  return [...(path.includes("{id}") ? [id] : []), ...queries, ...(hasStream ? [lastEventId] : [])];
}

/** Whether the route is one of those whose simultaneous requests are limited: waiting ones and streams. */
function isLimited({ parameters, output, follow }: Route): boolean {
  return "wait" in parameters || output.kind === "stream" || follow !== undefined;
}

function contentOf(output: Output): OpenApiJson {
  if (output.kind === "text") return { [output.type.split(";", 1)[0] ?? ""]: { schema: { type: "string" } } };
  if (output.kind === "file") return { [output.type]: {} };
  // OpenAPI 3.1 can't express the type of an event of a stream: the schema is that of each event's data.
  if (output.kind === "stream") return { "text/event-stream": { schema: reference(output.schema) } };
  return { "application/json": { schema: schemaOf(output) } };
}

function schemaOf({ schema, list = false }: Output & { readonly kind: "json" }): JsonSchema {
  if (schema === undefined) return { type: "object" };
  return list ? { type: "array", items: reference(schema) } : reference(schema);
}

function problem(status: number): OpenApiJson {
  return {
    description: reasonPhrase(status),
    content: { "application/problem+json": { schema: reference("Problem") } },
  };
}

function reference(name: keyof typeof SCHEMAS): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}
