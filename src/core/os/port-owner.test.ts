/** Owners of ports, ports of processes, and the explanations of ports that can't be used. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { holderBeside, holderOfPort, holdersOf, listensOn, whyNotListening } from "./port-owner.ts";

test("the owner of a port and the ports of a process are found for IPv4 and IPv6", async (context) => {
  const servers = [createServer().listen(0, "127.0.0.1"), createServer().listen(0, "::1")];
  context.after(() => {
    for (const server of servers) server.close();
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  for (const port of ports) {
    assert.match(holderOfPort(port) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
  }
  assert.deepEqual(
    [`${ports[0]}`, `[::1]:${ports[1]}`].filter((text) => !listensOn(process.pid).includes(text)),
    [],
    "what connections to 127.0.0.1 don't reach has its address",
  );
  const elsewhere = await listening(context, "127.0.0.2");
  assert.ok(listensOn(process.pid).includes(`127.0.0.2:${elsewhere}`));
  assert.deepEqual(listensOn(5_000_000), []);
});

test("an unknown host name is explained; an unexpected errno isn't", () => {
  for (const code of ["ENOTFOUND", "EAI_AGAIN"])
    assert.equal(whyNotListening(code, 80), "that host name has no known address");
  assert.equal(whyNotListening("EIO", 80), undefined);
});

test("an owner with a name longer than the kernel stores is reported with its full name", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { title } = process;
  context.after(() => {
    process.title = title;
    server.close();
  });
  process.title = "procman: a service";
  assert.equal(holderOfPort((server.address() as AddressInfo).port), `procman: a service (pid ${process.pid})`);
});

async function listening(context: TestContext, hostname: string): Promise<number> {
  const server = createServer().listen(0, hostname);
  await once(server, "listening");
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test("the process that kept a run from its port is named, unless it belongs to the run", async (context) => {
  const port = await listening(context, "127.0.0.1");
  assert.match(holderBeside(port, () => false)?.by ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
  assert.equal(
    holderBeside(port, (pid) => pid === process.pid),
    undefined,
  );
  assert.equal(
    holderBeside(1, () => false),
    undefined,
  );
});

test("the processes that have ports are found by one look, for several ports", async (context) => {
  const ports = [await listening(context, "127.0.0.1"), await listening(context, "127.0.0.2")];
  const holders = holdersOf(new Set([...ports, 1]));
  assert.deepEqual(
    ports.map((port) => holders.get(port)),
    [[process.pid], [process.pid]],
  );
  assert.equal(holders.has(1), false);
});
