/** Limits on the rate and size of what programs send. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";
import type { ProblemRecord } from "../contract/records.ts";
import { ROUTES } from "../contract/routes.ts";
import { RateLimiter } from "./rate-limit.ts";
import { HttpError } from "./responses.ts";

type Sender = { readonly consumer?: string; readonly process?: string };

function post(api: ApiRig, path: string, body: object, sender: Sender = {}): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${api.token({ scopes: ["log", "telemetry"], ...sender })}`,
  };
  return fetch(`${api.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function statuses(requests: readonly Promise<Response>[]): Promise<Readonly<Record<number, number>>> {
  const counts: Record<number, number> = {};
  for (const response of await Promise.all(requests)) {
    await response.arrayBuffer();
    counts[response.status] = (counts[response.status] ?? 0) + 1;
  }
  return counts;
}

test("a consumer that sends more lines than its limit is refused until the bucket has refilled; another one isn't affected", () => {
  let now = 0;
  const limiter = new RateLimiter(() => now);
  const admit = (consumer: string, process?: string): void =>
    void limiter.admit(
      ROUTES.log,
      { consumer, audience: "test", scopes: ["log"], ...(process === undefined ? {} : { process }) },
      40,
    );
  const isRefused = (seconds: string) => (error: unknown) =>
    error instanceof HttpError && error.code === "too-many-requests" && error.headers["retry-after"] === seconds;
  for (let count = 0; count < 500; count++) admit("noisy");
  assert.throws(() => admit("noisy"), isRefused("1"));
  admit("quiet");
  admit("noisy", "web");
  now = 1_000;
  for (let count = 0; count < 100; count++) admit("noisy");
  assert.throws(() => admit("noisy"), isRefused("1"));
});

test("the limit of lines counts their bytes, too", async (context) => {
  const api = await startApi(context);
  const counts = await statuses(Array.from({ length: 120 }, () => post(api, "/log", { text: "x".repeat(65_000) })));
  assert.ok((counts[201] ?? 0) >= 15 && (counts[201] ?? 0) < 120, JSON.stringify(counts));
  const refused = (
    await Promise.all(Array.from({ length: 40 }, () => post(api, "/log", { text: "x".repeat(65_000) })))
  ).find(({ status }) => status === 429);
  assert.ok(refused !== undefined && Number(refused.headers.get("retry-after")) >= 1);
  const { code, detail } = (await refused.json()) as ProblemRecord;
  assert.equal(code, "too-many-requests");
  assert.match(detail, /"ci" sends more to \/log than 100 requests and 1000000 bytes a second; wait \d+ s/);
  assert.equal((counts[201] ?? 0) + (counts[429] ?? 0), 120);
});

test("a body without a declared length counts with its real length", async (context) => {
  const api = await startApi(context);
  const headers = { "content-type": "application/json", authorization: `Bearer ${api.token()}` };
  for (let count = 0; count < 20; count++) {
    const body = new Blob([JSON.stringify({ text: "hello" })]).stream();
    const response = await fetch(`${api.url}/log`, { method: "POST", headers, body, duplex: "half" } as RequestInit);
    assert.equal(response.status, 201, `request ${count}`);
  }
});

const REPORT = {
  process: "web",
  memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 },
  cwd: "/",
  sent: "2026-01-01",
};

test("telemetry: names, size and rate are limited", async (context) => {
  const api = await startApi(context);
  const report = (metrics: object): Promise<Response> => post(api, "/telemetry", { ...REPORT, metrics });
  assert.equal((await report({ ["n".repeat(100)]: 1 })).status, 200);
  const long = await report({ ["n".repeat(101)]: 1 });
  assert.equal(long.status, 400);
  assert.match(((await long.json()) as ProblemRecord).problems?.[0]?.place ?? "", /^body\.metrics/);
  const names = Object.fromEntries(Array.from({ length: 190 }, (_, index) => [`${index}`.padEnd(100, "n"), 1]));
  assert.equal((await report(names)).status, 413);
  const counts = await statuses(Array.from({ length: 300 }, () => report({ queue: 1 })));
  assert.ok((counts[429] ?? 0) > 100, JSON.stringify(counts));
});
