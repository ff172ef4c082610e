/** Decides which implementation of TCP the balancer uses: `tcp-binding` where it passes a self-test, `tcp-net` otherwise. */
import { loadBinding } from "./tcp-binding.ts";
import { END_OF_FILE, type Tcp, type TcpHandle, type TcpServer } from "./tcp-handle.ts";
import { NetTcp } from "./tcp-net.ts";

const HOST = "127.0.0.1";
/** A test that takes longer has failed. */
const TIMEOUT_MS = 5_000;
const TEXT = "procman";
/** Smaller than the text, so that it is read in two parts, and the second goes into another buffer. */
const FIRST_BYTES = 4;

/** `problem`: why it is not `tcp-binding`. */
export type TcpChoice = { readonly tcp: Tcp; readonly problem?: string };

/** `name`: of the implementation that is to be used, as the first process has chosen it. */
export function tcpOf(name: string): Tcp {
  return name === "net" ? new NetTcp() : loadBinding();
}

/** `forced`: the value of PROCMAN_BALANCER_TCP. */
export async function chooseTcp(forced: string | undefined, load: () => Tcp = loadBinding): Promise<TcpChoice> {
  if (forced === "net") return { tcp: new NetTcp(), problem: "PROCMAN_BALANCER_TCP is net" };
  try {
    const tcp = load();
    await selfTest(tcp);
    return { tcp };
  } catch (error) {
    return { tcp: new NetTcp(), problem: (error as Error).message };
  }
}

/** Listens, connects, accepts, reads, writes, half-closes and resets, as the balancer does. Rejects with the first fault. */
async function selfTest(tcp: Tcp): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("its self-test did not finish in time")), TIMEOUT_MS);
  });
  const server = await tcp.bind(HOST, 0);
  try {
    await Promise.race([echo(tcp, server), timeout]);
  } finally {
    clearTimeout(timer);
    server.close();
  }
}

async function echo(tcp: Tcp, server: TcpServer): Promise<void> {
  const accepted = new Promise<TcpHandle>((resolve) => check("accept", server.accept(resolve)));
  const socket = tcp.newSocket();
  try {
    check("connect", await new Promise<number>((resolve) => tcp.connect(socket, HOST, server.port, resolve)));
    await exchange(tcp, socket, await accepted);
  } finally {
    socket.close();
  }
}

async function exchange(tcp: Tcp, one: TcpHandle, other: TcpHandle): Promise<void> {
  const near = new Peer(tcp, one);
  const far = new Peer(tcp, other);
  try {
    check("getsockname", one.getsockname({}));
    check("getpeername", other.getpeername({}));
    near.write(TEXT);
    expect("read", await far.received(TEXT.length), TEXT);
    far.write(TEXT);
    expect("write", await near.received(TEXT.length), TEXT);
    check("shutdown", tcp.shutdown(one));
    expect("half-close", await far.ended, END_OF_FILE);
    far.write(TEXT);
    expect("half-close", await near.received(2 * TEXT.length), TEXT + TEXT);
  } finally {
    other.reset();
  }
  const end = await near.ended;
  if (end >= 0 || end === END_OF_FILE) throw new Error(`its self-test failed: reset gave ${end}`);
}

/** One end of the connection of the self-test. */
class Peer {
  readonly #handle: TcpHandle;
  readonly #tcp: Tcp;
  #text = "";
  #buffer = Buffer.alloc(FIRST_BYTES);
  #pending: { readonly length: number; readonly resolve: (text: string) => void } | undefined;
  readonly ended: Promise<number>;

  constructor(tcp: Tcp, handle: TcpHandle) {
    this.#handle = handle;
    this.#tcp = tcp;
    this.ended = new Promise((resolve) => {
      const onRead = (count: number): Buffer | undefined => (count < 0 ? void resolve(count) : this.#take(count));
      tcp.setOwner(handle, { onRead, onWritten: () => undefined, onShutdown: () => undefined });
    });
    handle.setNoDelay(true);
    handle.useUserBuffer(this.#buffer);
    handle.readStart();
  }

  write(text: string): void {
    if (this.#tcp.write(this.#handle, Buffer.from(text)) < 0) throw new Error("its self-test failed: write");
  }

  /** Resolves with the received text once it has this length. */
  received(length: number): Promise<string> {
    return new Promise((resolve) => {
      this.#pending = { length, resolve };
      this.#resolveIfComplete();
    });
  }

  #take(count: number): Buffer | undefined {
    this.#text += this.#buffer.toString("latin1", 0, count);
    this.#resolveIfComplete();
    if (this.#buffer.length > FIRST_BYTES) return undefined;
    this.#buffer = Buffer.alloc(2 * TEXT.length);
    return this.#buffer;
  }

  #resolveIfComplete(): void {
    if (this.#pending !== undefined && this.#text.length >= this.#pending.length) this.#pending.resolve(this.#text);
  }
}

function check(what: string, status: number): void {
  if (status !== 0) throw new Error(`its self-test failed: ${what} gave ${status}`);
}

function expect<T>(what: string, actual: T, expected: T): void {
  if (actual !== expected)
    throw new Error(
      `its self-test failed: ${what} gave ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`,
    );
}
