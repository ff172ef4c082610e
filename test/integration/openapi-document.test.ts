/** The answers of a running procman conform to its OpenAPI document, from which other tools are generated. Spec 4. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { type Json, refusalOf } from "../support/json-schema.ts";
import { eventually, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

type Operation = {
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Json }>> }>
  >;
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Json };
};

/** As strict as a generated client: an unknown member is a fault. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== "object" || schema === null) return schema;
  const all = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, strict(value)])) as Json;
  return all.type === "object" && all.properties !== undefined && all.additionalProperties === undefined
    ? { ...all, additionalProperties: false }
    : all;
}

function checkerOf({ paths, components }: Document) {
  const schemas = strict(components.schemas) as Json;
  const definitions = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [`#/components/schemas/${name}`, schema]),
  );
  return ([method, path]: readonly [string, string], { status, headers }: Response, answer: unknown): void => {
    const type = headers.get("content-type")?.split(";")[0] ?? "";
    const content = paths[path]?.[method]?.responses[status]?.content?.[type];
    assert.ok(content !== undefined, `the document has no ${status} (${type}) of ${method} ${path}`);
    const refusal = refusalOf(answer, strict(content.schema) as Json, definitions);
    assert.ok(
      refusal === undefined,
      `${method} ${path} ${status}: ${refusal}\n${JSON.stringify(answer, null, 2).slice(0, 2_000)}`,
    );
  };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  await eventually(async () => (await holds()) || undefined);
}

const LISTENER = "require('net').createServer((c) => c.end()).listen(+process.env.PROCMAN_CLUSTER_PORT, '127.0.0.1')";

test("4 each answer of the API conforms to GET /openapi.json, also of clusters, failures and problems", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: `exec '${process.execPath}' -e "${LISTENER}"`,
      autostart: true,
      cluster: { instances: 2, startPort: 18_300, commonPort: 18_299 },
      ready: { port: "{port}", timeout: 20 },
    },
    {
      id: "job",
      cmd: "echo out; echo err >&2; exit 3",
      autostart: true,
      restart: "error",
      restartLimit: 1,
      restartDelayMs: 10,
    },
    { id: "lost", cmd: "./not-there", autostart: true },
    { id: "later", cmd: "sleep 1000", cron: "0 0 1 1 *" },
    {
      id: "after",
      cmd: "sleep 1000",
      autostart: true,
      dependsOn: ["web"],
      env: { MODE: "x" },
      watch: ["."],
      memoryLimit: "1GB",
    },
  ]);
  const file = join(procman.folder, ".procman/procman/endpoint.json");
  const { port } = await eventually(() =>
    existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined,
  );
  const args = [BIN, "token", "--consumer", "ci"];
  const token = (await promisify(execFile)(process.execPath, args, { cwd: procman.folder })).stdout.trim();
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
  const check = checkerOf((await (await ask("/openapi.json")).json()) as Document);
  const checked: string[] = [];
  const holds = async (method: string, path: string, real = path, body?: object): Promise<unknown> => {
    const answer = await ask(real, {
      method: method.toUpperCase(),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const json: unknown = answer.headers.get("content-type")?.includes("json")
      ? await answer.json()
      : await answer.text();
    check([method, path], answer, json);
    checked.push(`${method} ${path} ${answer.status}`);
    return json;
  };
  const status = async (id: string): Promise<string> =>
    ((await (await ask(`/processes/${id}`)).json()) as ProcessRecord).status;
  const wanted = { web: "running", job: "exhausted", lost: "errored", after: "running" };
  await until(async () => (await Promise.all(Object.keys(wanted).map(status))).join() === Object.values(wanted).join());
  for (const query of ["", "?process=web", "?process=lost", "?of=web"])
    await holds("get", "/health", `/health${query}`);
  await holds("get", "/metrics");
  await holds("get", "/processes");
  for (const id of [...Object.keys(wanted), "later", "web-1", "nobody"])
    await holds("get", "/processes/{id}", `/processes/${id}`);
  for (const id of ["job", "lost", "web-2"])
    await holds("get", "/processes/{id}/incidents", `/processes/${id}/incidents`);
  await until(async () =>
    JSON.stringify(await holds("get", "/processes/{id}/metrics", "/processes/after/metrics")).includes("cpu"),
  );
  for (const query of [
    "",
    "?category=lifecycle",
    "?search=out",
    "?where=status>=500&where=a=1&regex=x,y",
    "?regex=(",
    "?limit=bad",
  ])
    await holds("get", "/logs", `/logs${query}`);
  await holds("get", "/state");
  await holds("get", "/plan");
  await holds("post", "/telemetry", "/telemetry", {
    process: "after",
    memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
    cwd: "/",
    sent: new Date().toISOString(),
    metrics: { queue: 3 },
  });
  await holds("get", "/processes/{id}", "/processes/after");
  await holds("post", "/log", "/log", { text: "a line", severity: "warn" });
  for (const action of ["stop", "block", "start", "unblock", "disable", "enable", "restart"])
    await holds("post", `/processes/{id}/${action}`, `/processes/after/${action}?wait=10`);
  await holds("post", "/processes/{id}/stop", "/processes/web/stop");
  await holds("post", "/processes/{id}/scale", "/processes/web/scale", { instances: 3 });
  await holds("post", "/processes/{id}/signal", "/processes/after/signal", { signal: "SIGWINCH", to: "leader" });
  await holds("post", "/processes/{id}/signal", "/processes/after/signal", { signal: "no" });
  await holds("post", "/processes/{id}/scale", "/processes/web/scale", { instances: -1 });
  await holds("post", "/reload");
  await holds("post", "/terminate");
  for (const one of [
    "get /processes/{id} 404",
    "post /processes/{id}/start 409",
    "post /processes/{id}/stop 200",
    "get /logs 400",
  ])
    assert.ok(checked.includes(one), `${one} is not among ${checked.join(", ")}`);
});
