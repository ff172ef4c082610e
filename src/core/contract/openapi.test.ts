/** The OpenAPI document: its structure and its references. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Json, refusalOf } from "../../../test/support/json-schema.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf } from "../base/schema-check.ts";
import { openApi } from "./openapi.ts";
import { SCHEMAS } from "./record-schemas.ts";
import { ROUTES } from "./routes.ts";

const text: JsonSchema = { type: "string", minLength: 1 };
const described: JsonSchema = { type: "object", required: ["description"], properties: { description: text } };
const operation: JsonSchema = {
  type: "object",
  required: ["operationId", "summary", "responses"],
  properties: {
    operationId: { ...text, pattern: "^[a-z]+$" },
    summary: text,
    parameters: {
      type: "array",
      items: {
        type: "object",
        required: ["name", "in", "schema", "description"],
        properties: {
          name: text,
          in: { type: "string", enum: ["path", "query", "header"] },
          schema: { type: "object" },
        },
      },
    },
    responses: { type: "object", additionalProperties: described },
    requestBody: { type: "object", required: ["content"] },
  },
};
/** The essential structure of https://spec.openapis.org/oas/3.1/schema. */
const DOCUMENT: JsonSchema = {
  type: "object",
  required: ["openapi", "info", "paths", "components"],
  additionalProperties: false,
  properties: {
    openapi: { type: "string", pattern: "^3\\.1\\.\\d$" },
    info: { type: "object", required: ["title", "version"], properties: { title: text, version: text } },
    servers: { type: "array", items: { type: "object", required: ["url"] } },
    security: { type: "array", items: { type: "object" } },
    paths: {
      type: "object",
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: { get: operation, post: operation },
      },
    },
    components: {
      type: "object",
      properties: {
        schemas: { type: "object", additionalProperties: { type: "object", required: ["description"] } },
        securitySchemes: { type: "object", additionalProperties: { type: "object", required: ["type", "scheme"] } },
      },
    },
  },
};

function referencesIn(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => (name === "$ref" ? [String(member)] : referencesIn(member)));
}

test("the document has the structure of OpenAPI 3.1, has each route once, and each reference has its schema", () => {
  const document = JSON.parse(JSON.stringify(openApi(ROUTES))) as { readonly paths: Readonly<Record<string, object>> };
  assert.deepEqual(faultsOf(document, DOCUMENT, "openapi"), []);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  assert.deepEqual(
    operations.toSorted(),
    Object.values(ROUTES)
      .map(({ method, path }) => `${method.toLowerCase()} ${path}`)
      .toSorted(),
  );
  const known = Object.keys(SCHEMAS).map((name) => `#/components/schemas/${name}`);
  const used = new Set(referencesIn(document));
  assert.deepEqual(
    [...used].filter((reference) => !known.includes(reference)),
    [],
  );
  assert.deepEqual(
    known.filter((reference) => !used.has(reference)),
    [],
  );
});

test("each path declares its parameter, each route with a body declares it", () => {
  for (const [path, methods] of Object.entries(
    openApi(ROUTES).paths as Record<string, Record<string, { parameters?: { in: string }[] }>>,
  ))
    for (const { parameters = [] } of Object.values(methods))
      assert.equal(
        parameters.some((each) => each.in === "path"),
        path.includes("{id}"),
      );
});

test("the parameters of GET /logs say what excludes follow", () => {
  const { order, to, follow } = ROUTES.logs.parameters;
  for (const [{ description }, excluded] of [
    [order, "follow=1"],
    [to, "follow=1"],
    [follow, "order=desc"],
    [follow, "`to`"],
  ] as const)
    assert.ok(description.includes(excluded), description);
});

test("the body of a scaling has exactly one of `instances` and `by`; the probe of liveness may be refused", () => {
  const { paths, components } = openApi(ROUTES) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
  };
  const { Scaling: scaling = {} } = components.schemas;
  const isScaling = (body: object): boolean => refusalOf(body, scaling as Json) === undefined;
  assert.deepEqual([{ instances: 2 }, { instances: "max" }, { by: -1 }].map(isScaling), [true, true, true]);
  assert.deepEqual([{}, { instances: 2, by: 1 }, { instances: 2, more: 1 }].map(isScaling), [false, false, false]);
  assert.deepEqual(Object.keys(paths["/health"]?.get?.responses ?? {}).toSorted(), [
    "200",
    "400",
    "403",
    "408",
    "417",
    "429",
    "431",
    "500",
    "503",
  ]);
});
