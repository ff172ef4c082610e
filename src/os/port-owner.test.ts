/** Owners of ports, ports of processes, and the explanations of ports that can't be used. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { holderBeside, holderOfPort, portsOf, strangerOn, whyNotListening } from "./port-owner.ts";

test("the owner of a port and the ports of a process are found for IPv4 and IPv6", async (context) => {
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

test("an unknown host name is explained; an unexpected errno isn't", () => {
  for (const code of ["ENOTFOUND", "EAI_AGAIN"]) assert.equal(whyNotListening(code, 80), "that host name has no known address");
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

/** A child process and the port on which it listens. */
async function child(context: TestContext, detached: boolean): Promise<{ readonly pid: number; readonly port: number }> {
  const program = 'const s = require("net").createServer().listen(0, "127.0.0.1", () => console.log(s.address().port))';
  const { pid = 0, stdout } = spawn(process.execPath, ["-e", program], { detached, stdio: ["ignore", "pipe", "ignore"] });
  assert.ok(pid > 1);
  context.after(() => process.kill(pid, "SIGKILL"));
  const [text] = await once(stdout, "data");
  return { pid, port: Number(text) };
}

test("a process that answers in place of a run is foreign only if it is older than the run and not part of it", async (context) => {
  const [near, every, both] = [await listening(context, "127.0.0.1"), await listening(context, "0.0.0.0"), await listening(context, "::")];
  const [run, session] = [await child(context, false), await child(context, true)];
  for (const port of [near, every, both]) assert.match(strangerOn(port, run.pid) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
  assert.equal(strangerOn(near, process.pid), undefined, "its own");
  assert.equal(strangerOn(run.port, run.pid), undefined, "its own");
  for (const { port } of [run, session]) assert.equal(strangerOn(port, process.pid), undefined, "born later: it may be of the run");
  assert.equal(strangerOn(near, 5_000_000), undefined, "the run is over");
  assert.equal(strangerOn(await listening(context, "127.0.0.2"), run.pid), undefined, "a client of 127.0.0.1 does not reach it");
});

test("a port forwarder is not foreign", async (context) => {
  const port = await listening(context, "127.0.0.1");
  const { pid } = await child(context, false);
  const { title } = process;
  context.after(() => {
    process.title = title;
  });
  process.title = "docker-proxy";
  assert.equal(strangerOn(port, pid), undefined);
});

test("the process that kept a run from its port is named, unless it belongs to the run", async (context) => {
  const port = await listening(context, "127.0.0.1");
  assert.match(holderBeside(port, () => false) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
  assert.equal(
    holderBeside(port, (pid) => pid === process.pid),
    undefined,
  );
  assert.equal(
    holderBeside(1, () => false),
    undefined,
  );
});
