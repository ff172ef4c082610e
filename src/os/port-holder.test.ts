/** Who has a port, who has which ports, and what is said of a port that nobody can have. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { holderOfPort, portsOf, whyNotListening } from "./port-holder.ts";

test("the holder of a port is named, and the ports of a process are found, for IPv4 and IPv6", async (context) => {
  const servers = [createServer().listen(0, "127.0.0.1"), createServer().listen(0, "::1")];
  context.after(() => {
    for (const server of servers) server.close();
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.once("listening", resolve))));
  const ports = servers.map((server) => (server.address() as { readonly port: number }).port);
  for (const port of ports) {
    assert.match(holderOfPort(port) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
    assert.ok(portsOf(process.pid).includes(port));
  }
  assert.deepEqual(portsOf(5_000_000), []);
});

test("a name without an address is said in words, an errno that nobody meets isn't", () => {
  for (const code of ["ENOTFOUND", "EAI_AGAIN"]) assert.equal(whyNotListening(code, 80), "no address is known here for that name");
  assert.equal(whyNotListening("EIO", 80), undefined);
});

test("a holder whose name is longer than the kernel keeps it has its whole name", async (context) => {
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
