/** A connection between two handles: what happens when a write to one of them fails. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { shared } from "./buffer-pool.ts";
import { ProxiedConnection } from "./connection.ts";
import { END_OF_FILE, type Tcp, type TcpHandle, type TcpOwner, WRITTEN } from "./tcp-handle.ts";

const RESET = -104;
const PIPE = -32;

/** A handle in memory. `failure`: of each write to it. */
class FakeHandle {
  written = "";
  failure = 0;
  isReading = false;
  end: "open" | "shut" | "closed" | "reset" = "open";
  owner!: TcpOwner;
  writeQueueSize = 0;
  setNoDelay(): void {}
  useUserBuffer(): void {}
  readStart(): void {
    this.isReading = true;
  }
  readStop(): void {
    this.isReading = false;
  }
  close(): void {
    this.end = "closed";
  }
  reset(): void {
    this.end = "reset";
  }
  /** Sends this text, its end, or an error. */
  sends(what: string | number): void {
    assert.ok(this.isReading, "it is read");
    if (typeof what === "string") shared.write(what);
    this.owner.onRead(typeof what === "string" ? what.length : what);
  }
}

function rig(context: TestContext) {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const [client, backend] = [new FakeHandle(), new FakeHandle()];
  const tcp = {
    setOwner: (handle: TcpHandle, owner: TcpOwner) => Object.assign(handle, { owner }),
    write: (handle: TcpHandle, chunk: Buffer) => {
      const fake = handle as unknown as FakeHandle;
      if (fake.failure < 0) return fake.failure;
      fake.written += chunk.toString("latin1");
      return WRITTEN;
    },
    shutdown: (handle: TcpHandle) => {
      const fake = handle as unknown as FakeHandle;
      fake.end = "shut";
      setImmediate(() => fake.owner.onShutdown());
      return 0;
    },
  } as unknown as Tcp;
  let isClosed = false;
  const sockets = { client: client as unknown as TcpHandle, backend: backend as unknown as TcpHandle };
  const connection = new ProxiedConnection(tcp, sockets, { bytesIn: 0, bytesOut: 0 }, () => {
    isClosed = true;
  });
  connection.begin();
  const pass = (ms: number): void => {
    now += ms;
    connection.check(now, 0);
  };
  return { client, backend, connection, pass, isClosed: () => isClosed };
}

const turn = (): Promise<void> => new Promise(setImmediate);

test("the answer of a backend that closed during an upload reaches the client, and the rest of the upload is dropped", async (context) => {
  const { client, backend, isClosed } = rig(context);
  client.sends("POST");
  backend.failure = PIPE;
  client.sends("body");
  assert.equal(isClosed(), false);
  backend.sends("413");
  client.sends("more body");
  backend.sends(END_OF_FILE);
  await turn();
  assert.deepEqual([client.written, client.end, isClosed()], ["413", "shut", false]);
  client.sends("still more");
  client.sends(END_OF_FILE);
  assert.deepEqual([backend.written, client.end, isClosed()], ["POST", "closed", true]);
});

test("after a reset by the backend its answer reaches the client, and then a reset if the client doesn't close itself", (context) => {
  const { client, backend, pass, isClosed } = rig(context);
  backend.failure = RESET;
  client.sends("body");
  backend.sends("413");
  backend.sends(RESET);
  pass(250);
  pass(250);
  pass(250);
  assert.deepEqual([client.written, client.end, isClosed()], ["413", "open", false]);
  pass(250);
  assert.deepEqual([client.end, isClosed()], ["reset", true]);
});

test("a client without an answer learns at once that its backend was killed", (context) => {
  const { client, backend, isClosed } = rig(context);
  client.sends("request");
  backend.failure = RESET;
  client.sends("body");
  backend.sends(RESET);
  assert.deepEqual([backend.written, client.end, isClosed()], ["request", "reset", true]);
});

test("a client that doesn't read the answer keeps a broken connection for a moment only, whatever it sends", (context) => {
  const { client, backend, pass, isClosed } = rig(context);
  backend.failure = PIPE;
  for (let quarter = 0; quarter < 4; quarter++) {
    client.sends("body");
    pass(250);
  }
  assert.equal(isClosed(), true);
});

test("what a client sent before it closed without reading reaches the backend; the backend is no longer read", (context) => {
  const { client, backend, isClosed } = rig(context);
  client.failure = RESET;
  backend.sends("hello");
  assert.equal(backend.isReading, false);
  client.sends("last words");
  assert.equal(isClosed(), false);
  client.sends(RESET);
  assert.deepEqual([backend.written, backend.end, isClosed()], ["last words", "reset", true]);
});

test("a PROXY header that can't be written doesn't hide the backend's answer", (context) => {
  const { client, backend, connection } = rig(context);
  backend.failure = PIPE;
  connection.begin(Buffer.from("header"));
  backend.sends("refused");
  assert.equal(client.written, "refused");
});
