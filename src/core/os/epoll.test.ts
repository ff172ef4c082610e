import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { test } from "node:test";
import { eventually } from "../../../test/support/procman-process.ts";
import { waitsForConnections } from "./epoll.ts";

const linux = { skip: process.platform !== "linux" };

test(
  "a run that listens waits for connections on its port, and on no other; without epoll, if it waits in accept or poll",
  linux,
  async (context) => {
    const [own, other] = [createServer().listen(0), createServer().listen(0)];
    await Promise.all([own, other].map((server) => once(server, "listening")));
    context.after(() => [own, other].map((server) => server.close()));
    const portOf = (server: typeof own): number => (server.address() as { readonly port: number }).port;
    const port = portOf(own);
    const code = 'require("node:net").createServer().listen({ fd: 3 }, () => setImmediate(() => console.log("up")))';
    // biome-ignore lint/suspicious/noExplicitAny: the handle is not documented.
    const fd = (own as any)._handle.fd as number;
    const child = spawn(process.execPath, ["-e", code], { stdio: ["ignore", "pipe", "inherit", fd], detached: true });
    const plain = spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "inherit", fd], detached: true });
    const accepting = spawn(
      "python3",
      ["-c", "import socket; s = socket.socket(fileno=3); s.setblocking(True); s.accept()"],
      {
        stdio: ["ignore", "ignore", "inherit", fd],
        detached: true,
      },
    );
    context.after(() => [child, plain, accepting].map((each) => each.kill("SIGKILL")));
    await once(child.stdout ?? assert.fail(), "data");
    assert.equal(waitsForConnections(child.pid ?? 0, port), true);
    assert.equal(waitsForConnections(child.pid ?? 0, portOf(other)), false);
    assert.equal(waitsForConnections(plain.pid ?? 0, port), undefined);
    await eventually(() => waitsForConnections(accepting.pid ?? 0, port));
  },
);
