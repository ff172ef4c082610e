import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { TcpServer } from "./tcp-handle.ts";
import { WorkerProcess } from "./worker-process.ts";

/** Says of the first listening socket that it did not arrive, and reports how many sockets were sent. */
const SCRIPT = `
let count = 0;
process.on("message", (message, socket) => {
  if (message.t !== "listen") return;
  socket?.close();
  count += 1;
  if (count === 1) process.send({ t: "no-socket", id: message.id });
  else process.send({ t: "report", reports: [], clients: count, load: { cpu: 0, busy: 0, room: 0 } });
});
process.on("disconnect", () => process.exit(0));
`;

test("a listening socket that did not arrive is sent again, and reported once", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-worker-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "worker.cjs");
  writeFileSync(file, SCRIPT);
  const written: string[] = [];
  context.mock.method(process.stderr, "write", (text: string) => written.push(text) > 0);
  const listening = createServer().listen(0, "127.0.0.1");
  const server: TcpServer = { transferable: listening, port: 0, accept: () => 0, close: () => void listening.close() };
  let reported = (): void => undefined;
  const arrived = new Promise<void>((resolve) => (reported = resolve));
  const worker = new WorkerProcess({ file, number: 1, tcp: "net" }, () => reported());
  context.after(async () => {
    await worker.end();
    server.close();
  });
  worker.listen("web", server);
  await arrived;
  assert.equal(worker.clients, 2);
  assert.deepEqual(written, [
    "procman: a process of the load balancer has no socket to accept clients from: it did not arrive\n",
  ]);
});
