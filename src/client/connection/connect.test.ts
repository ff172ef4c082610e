/** Requests of commands: their address and their tokens. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../core/contract/records.ts";
import { processStat } from "../../core/os/process-stat.ts";
import { secretIn } from "../../core/os/secret.ts";
import { connectTo } from "./connect.ts";

type Received = { readonly url: string; readonly issued: number; readonly expires: number };

/** A service whose state folder takes no socket: its endpoint.json names a port alone. */
async function portService(
  context: TestContext,
  refusals: readonly { readonly status: number; readonly retry?: string }[] = [],
) {
  const left = [...refusals];
  const stateDir = mkdtempSync(join(tmpdir(), "procman-connect-"));
  context.after(() => rmSync(stateDir, { recursive: true }));
  const received: Received[] = [];
  const server = createServer(({ url = "", headers: { authorization = "" } }, response) => {
    const [, payload = ""] = authorization.split(".");
    const { iat, exp } = JSON.parse(Buffer.from(payload, "base64url").toString()) as {
      readonly iat: number;
      readonly exp: number;
    };
    received.push({ url, issued: iat, expires: exp });
    const { status, retry } = left.shift() ?? {};
    if (status !== undefined)
      return void response.writeHead(status, retry === undefined ? {} : { "retry-after": retry }).end("{}");
    response.writeHead(200, { "content-type": "application/json" }).end("[]");
  }).listen(0, "127.0.0.1");
  context.after(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const own = { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "" };
  const endpoint: Endpoint = { hostname: "127.0.0.1", port, ...own, keeper: process.ppid, version: "1.0.0" };
  writeFileSync(join(stateDir, "endpoint.json"), JSON.stringify(endpoint));
  secretIn(stateDir);
  return { client: await connectTo({ name: "shop", stateDir }), received };
}

test("a service whose endpoint.json names no Unix socket is asked at its port", async (context) => {
  const { client, received } = await portService(context);
  await client.processes();
  assert.deepEqual(
    received.map(({ url }) => url),
    ["/processes"],
  );
});

test("the token of a command is good for a minute beyond the time for which the command waits", async (context) => {
  const { client, received } = await portService(context);
  const now = Date.now() / 1_000;
  await client.processes();
  await client.act("web", "start");
  await client.act("web", "start", { waitSeconds: 300 });
  assert.deepEqual(
    received.map(({ issued, expires }) => expires - issued),
    [60, 60, 360],
  );
  for (const { issued } of received) assert.ok(Math.abs(issued - now) < 10, "the clock is that of the machine");
});

test("a request that a service leaves to its successor, or did not read as it stood still, is sent again", async (context) => {
  const { client, received } = await portService(context, [{ status: 503, retry: "0" }, { status: 408 }]);
  await client.act("web", "restart");
  assert.equal(received.length, 3);
});
