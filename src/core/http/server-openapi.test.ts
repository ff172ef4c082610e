/** The OpenAPI document and the server agree: what the document allows is taken, what it forbids is refused, and each status is named. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { startApi } from "../../../test/support/control-rig.ts";
import { damage, inflict, type Json, refusalOf, valuesOf } from "../../../test/support/json-schema.ts";
import { openApi } from "../contract/openapi.ts";
import { ROUTES } from "../contract/routes.ts";
import { expiresIn, OWNER_SCOPES } from "../contract/token-claims.ts";

type Operation = {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema: Json;
    readonly explode?: boolean;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Json }>> };
  readonly responses: Readonly<Record<string, unknown>>;
};

const DOCUMENT = JSON.parse(JSON.stringify(openApi(ROUTES))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Json>> };
};
const DEFINITIONS = Object.fromEntries(
  Object.entries(DOCUMENT.components.schemas).map(([name, schema]) => [`#/components/schemas/${name}`, schema]),
);
const OPERATIONS = Object.entries(DOCUMENT.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);
/** What no schema can say: a parameter that excludes another one, values that are known to a running procman alone. */
const UNSAYABLE = /follow=|cursor=|after=|profile=|order=/;

const queryOf = ({ parameters = [] }: Operation): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    Object.fromEntries(
      parameters.filter((each) => each.in === "query").map(({ name, schema }) => [name, valuesOf(schema)]),
    ),
    {
      requiredKeys: [],
    },
  );
const bodyOf = ({ requestBody }: Operation): Json | undefined => {
  const schema = requestBody?.content["application/json"]?.schema;
  return schema === undefined ? undefined : DEFINITIONS[schema.$ref as string];
};
/** Values of its members; what excludes each other in it isn't looked at. */
const bodiesOf = ({ oneOf: _oneOf, ...schema }: Json): fc.Arbitrary<unknown> => valuesOf(schema);
/** As a client writes them that was made from the document. */
const written = (values: Readonly<Record<string, unknown>>): string =>
  String(
    new URLSearchParams(
      Object.fromEntries(
        Object.entries(values).flatMap(([name, value]) => (isEmptyList(value) ? [] : [[name, String(value)]])),
      ),
    ),
  );

/** It can't be written: `where=` is a list of one empty text. */
const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

type Asked = { readonly path: string; readonly method: string; readonly query: string; readonly body: unknown };

/** Status and problem. Streams and waiting requests are given up. */
async function asker(context: TestContext) {
  const api = await startApi(context);
  let count = 0;
  return async ({ path, method, query, body }: Asked): Promise<{ readonly status: number; readonly text: string }> => {
    count += 1;
    // Each its own consumer: rates are limited for each.
    const token = api.token({ consumer: `c${count}`, scopes: OWNER_SCOPES, expires: expiresIn(60) });
    const reply = await fetch(`${api.url}${path.replace("{id}", "pair")}${query === "" ? "" : `?${query}`}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const isStream = reply.headers.get("content-type") === "text/event-stream";
    const text = isStream ? "" : await reply.text();
    await reply.body?.cancel().catch(() => undefined);
    return { status: reply.status, text };
  };
}

test("each answer has a status that the document names, and what the document allows is not refused as invalid", async (context) => {
  const ask = await asker(context);
  for (const { path, method, operation } of OPERATIONS) {
    const schema = bodyOf(operation);
    const bodies =
      schema === undefined
        ? fc.constant(undefined)
        : bodiesOf(schema).filter((value) => refusalOf(value, schema, DEFINITIONS) === undefined);
    await fc.assert(
      fc.asyncProperty(queryOf(operation), bodies, async (values, body) => {
        const { wait: _wait, ...others } = values;
        const query = written(others);
        const { status, text } = await ask({ path, method, query, body });
        const at = `${method} ${path}?${query} ${JSON.stringify(body)}: ${status} ${text}`;
        assert.ok(Object.hasOwn(operation.responses, String(status)), at);
        if (!UNSAYABLE.test(query)) assert.notEqual(status, 400, at);
      }),
      { numRuns: 25 },
    );
  }
});

test("what the document forbids is refused with a status that it names: bodies, unknown parameters, other methods", async (context) => {
  const ask = await asker(context);
  for (const { path, method, operation } of OPERATIONS) {
    const unknown = await ask({
      path,
      method,
      query: "nothing=1",
      body: bodyOf(operation) === undefined ? undefined : {},
    });
    assert.deepEqual(
      [unknown.status, Object.hasOwn(operation.responses, "400")],
      [400, true],
      `${method} ${path}?nothing=1: ${unknown.text}`,
    );
    const schema = bodyOf(operation);
    if (schema === undefined) continue;
    await fc.assert(
      fc.asyncProperty(bodiesOf(schema), fc.array(damage, { minLength: 1, maxLength: 2 }), async (value, all) => {
        const body = structuredClone(value);
        for (const each of all) inflict(body, each);
        if (refusalOf(JSON.parse(JSON.stringify(body)) as unknown, schema, DEFINITIONS) === undefined) return;
        const { status, text } = await ask({ path, method, query: "", body });
        assert.equal(status, 400, `${method} ${path} ${JSON.stringify(body)}: ${text}`);
      }),
      { numRuns: 50 },
    );
  }
});

test("signals, scopes and scalings that are refused are not allowed by the document", async (context) => {
  const ask = await asker(context);
  const cases: Readonly<Record<string, readonly unknown[]>> = {
    "/processes/{id}/signal": [
      ...[...Array(66).keys()].map((signal) => ({ signal })),
      ...["HUP", "sighup", "SigHup", "1", "031", "32", "reload", "RELOAD", "X", "", "SIG", "SIGRTMIN"].map(
        (signal) => ({ signal }),
      ),
    ],
    "/processes/{id}/scale": [{}, { by: 1 }, { instances: 1, by: 1 }, { instances: 0 }, { instances: "max" }],
    "/processes/{id}/input": [{}, { text: "" }, { data: "eA==" }, { text: "x", data: "eA==" }, { data: "?" }],
    "/dashboard/code": [{}, { scopes: [] }, { scopes: ["read"] }, { scopes: ["all"] }],
  };
  for (const [path, bodies] of Object.entries(cases))
    for (const body of bodies) {
      const schema = bodyOf(DOCUMENT.paths[path]?.post as Operation) as Json;
      const { status, text } = await ask({ path, method: "POST", query: "", body });
      assert.equal(
        status === 400,
        refusalOf(body, schema, DEFINITIONS) !== undefined,
        `${path} ${JSON.stringify(body)}: ${status} ${text}`,
      );
    }
});
