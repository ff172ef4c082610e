/** What the balancer relies on of TCP, for both implementations. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";
import { testBoth } from "../../../test/support/both-tcp.ts";
import { tcpOf } from "./tcp-choice.ts";
import { END_OF_FILE, isToItself, PENDING, type Tcp, type TcpHandle, WRITTEN } from "./tcp-handle.ts";
import { NetHandle } from "./tcp-net.ts";

const HOST = "127.0.0.1";

function connected(tcp: Tcp, socket: TcpHandle, port: number): Promise<number> {
  return new Promise((resolve) => tcp.connect(socket, HOST, port, resolve));
}

/** Collects the events of a handle. */
class Recorder {
  readonly #buffer = Buffer.alloc(1_000);
  readonly #waiting: (() => void)[] = [];
  text = "";
  end: number | undefined;
  written = 0;

  constructor(tcp: Tcp, handle: TcpHandle) {
    tcp.setOwner(handle, {
      onRead: (count) => {
        if (count < 0) this.end = count;
        else this.text += this.#buffer.toString("latin1", 0, count);
        this.#wake();
        return undefined;
      },
      onWritten: () => {
        this.written += 1;
        this.#wake();
      },
      onShutdown: () => undefined,
    });
    handle.useUserBuffer(this.#buffer);
    handle.readStart();
  }

  async until(is: () => boolean): Promise<void> {
    while (!is()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** A client of `net` and the handle that was accepted for it. They are closed after the test, also when it fails. */
async function accepted(
  context: TestContext,
  tcp: Tcp,
): Promise<{ readonly client: Socket; readonly handle: TcpHandle }> {
  const server = await tcp.bind(HOST, 0);
  const coming = new Promise<TcpHandle>((resolve) => assert.equal(server.accept(resolve), 0));
  const client = connect({ port: server.port, host: HOST, allowHalfOpen: true });
  await once(client, "connect");
  const handle = await coming;
  context.after(() => {
    client.destroy();
    handle.close();
    server.close();
  });
  return { client, handle };
}

testBoth("a socket connected to itself is distinguished from one that a server has accepted", async (_, name) => {
  const tcp = tcpOf(name);
  const server = createServer((client) => client.destroy()).listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  const other = tcp.newSocket();
  assert.equal(await connected(tcp, other, port), 0);
  assert.equal(isToItself(other, port), false);
  other.close();
  server.close();
  await once(server, "close");
  const own = await connectedToItself(tcp, port);
  assert.equal(isToItself(own, port), true);
  own.close();
});

async function connectedToItself(tcp: Tcp, port: number): Promise<TcpHandle> {
  if (tcp.name === "net") {
    const socket = connect({ port, host: HOST, localPort: port, localAddress: HOST });
    await once(socket, "connect");
    return new NetHandle(socket);
  }
  const own = tcp.newSocket() as TcpHandle & { readonly bind: (address: string, port: number) => number };
  assert.equal(own.bind(HOST, port), 0);
  assert.equal(await connected(tcp, own, port), 0);
  return own;
}

testBoth("a refused connection, and a socket closed before it is connected, give an error number", async (_, name) => {
  const tcp = tcpOf(name);
  const server = createServer().listen(0, HOST);
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, "close");
  const refused = tcp.newSocket();
  assert.equal(await connected(tcp, refused, port), -111);
  refused.close();
  const socket = tcp.newSocket();
  const cancelled = connected(tcp, socket, port);
  socket.close();
  assert.ok((await cancelled) < 0);
});

testBoth("a port in use gives its code", async (_, name) => {
  const tcp = tcpOf(name);
  const holder = createServer().listen(0, HOST);
  await once(holder, "listening");
  const { port } = holder.address() as { readonly port: number };
  // It shows when the socket is bound, or when it is to listen.
  const attempt = async (): Promise<void> => {
    const server = await tcp.bind(HOST, port);
    const status = server.accept(() => undefined);
    server.close();
    if (status === -98) throw Object.assign(new Error("listen"), { code: "EADDRINUSE" });
  };
  await assert.rejects(attempt, { code: "EADDRINUSE" });
  holder.close();
});

testBoth("bytes arrive in the buffer in parts that fit, and unread ones wait", async (context, name) => {
  const tcp = tcpOf(name);
  const { client, handle } = await accepted(context, tcp);
  const far = new Recorder(tcp, handle);
  const text = "0123456789".repeat(1_000);
  client.write(text);
  await far.until(() => far.text.length === text.length);
  assert.equal(far.text, text);
  handle.readStop();
  client.write("later");
  assert.equal(tcp.write(handle, Buffer.from("answer")), WRITTEN);
  assert.equal(String(await once(client, "data")), "answer");
  assert.equal(far.text, text);
  handle.readStart();
  await far.until(() => far.text.length > text.length);
  assert.ok(far.text.endsWith("later"));
});

testBoth("each side may end its half; a reset is distinguished from an end", async (context, name) => {
  const tcp = tcpOf(name);
  for (const isReset of [false, true]) {
    const { client, handle } = await accepted(context, tcp);
    const far = new Recorder(tcp, handle);
    client.on("error", () => undefined).resume();
    if (isReset) client.resetAndDestroy();
    else client.end("last");
    await far.until(() => far.end !== undefined);
    if (isReset) assert.ok((far.end as number) < 0 && far.end !== END_OF_FILE);
    else {
      assert.deepEqual([far.text, far.end], ["last", END_OF_FILE]);
      tcp.write(handle, Buffer.from("answer"));
      const ended = once(client, "end");
      assert.equal(tcp.shutdown(handle), 0);
      await ended;
    }
  }
});

testBoth("a write that the kernel doesn't accept at once stays pending until it does", async (context, name) => {
  const tcp = tcpOf(name);
  const { client, handle } = await accepted(context, tcp);
  client.pause();
  const near = new Recorder(tcp, handle);
  const chunk = Buffer.alloc(1_000_000, "x");
  let [count, pending] = [0, 0];
  // The kernel may find room for the rest of a write that is pending already: nothing is queued then.
  for (; handle.writeQueueSize === 0; count += 1) if (tcp.write(handle, chunk) === PENDING) pending += 1;
  let bytes = 0;
  client.on("data", (part: Buffer) => {
    bytes += part.length;
  });
  client.resume();
  await near.until(() => near.written === pending);
  while (bytes < count * chunk.length) await once(client, "data");
  assert.equal(tcp.write(handle, Buffer.from("x")) === PENDING, false);
});

testBoth("addresses of both sides are known; without a connection there is an error number", async (context, name) => {
  const tcp = tcpOf(name);
  const { client, handle } = await accepted(context, tcp);
  const [peer, own]: { address?: string; port?: number }[] = [{}, {}];
  assert.deepEqual([handle.getpeername(peer ?? {}), handle.getsockname(own ?? {})], [0, 0]);
  assert.deepEqual([peer?.address, peer?.port, own?.port], [HOST, client.localPort, client.remotePort]);
  const none = tcp.newSocket();
  assert.ok(none.getpeername({}) < 0);
  none.close();
});
