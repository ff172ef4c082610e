/** The socket of the API that a service hands on when its keeper was killed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { fstatSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { eventually } from "../../../../test/support/procman-process.ts";
import { configOf, folder, startService } from "../../../../test/support/service-rig.ts";
import { type InheritedSocket, isApiAddress } from "../../os/inherited-sockets.ts";

test("while a service with an unfinished request gives way, what it would hand on is a socket, or nothing", async (context) => {
  const sockets = new Map<string, InheritedSocket>();
  const config = configOf(folder(), [], { api: { hostname: "127.0.0.1" } });
  const { service } = startService(context, config, {}, { sockets });
  const address = await eventually(() => [...sockets.keys()].find(isApiAddress));
  const port = Number(address.split(" ").at(-1));
  assert.equal((await fetch(`http://127.0.0.1:${port}/health`)).status, 200);
  const client = connect(port, "127.0.0.1").on("error", () => undefined);
  context.after(() => client.destroy());
  await once(client, "connect");
  client.write("GET /health HTTP/1.1\r\n");
  let isOver = false;
  const retired = service.retire().then(() => {
    isOver = true;
  });
  for (; !isOver; await turn()) for (const { fd } of sockets.values()) assert.ok(fstatSync(fd).isSocket());
  await retired;
  assert.deepEqual([...sockets.keys()], []);
});
