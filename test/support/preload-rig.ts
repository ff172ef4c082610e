/** A Node program with the module of `"node": true` loaded, without a procman, and a client that keeps its connection. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { connect as connectTls } from "node:tls";
import { DIST } from "./product.ts";

type PreloadOptions = {
  /** Milliseconds after which idle connections end. Default: far longer than a test. */
  readonly idle?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** Further parts of its task. */
  readonly task?: string;
  /** Its descriptor 6: a file in which it counts its clients. */
  readonly clients?: number;
};

export class PreloadedProgram {
  readonly process: ChildProcess;
  #text = "";
  /** Exit code or signal. */
  readonly ended: Promise<number | string>;

  /** `source`: a CommonJS program that prints `port N`. */
  constructor(
    context: TestContext,
    source: string,
    { idle = 60_000, env = {}, task = "", clients }: PreloadOptions = {},
  ) {
    const args = ["--require", join(DIST, "node-preload.cjs"), "--eval", source];
    this.process = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "inherit", "ignore", "ignore", "ignore", clients ?? "ignore"],
      env: { PATH: process.env.PATH, PROCMAN_NODE: `stop=SIGTERM idle=${idle} ${task}`.trim(), ...env },
    });
    this.process.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#text += text;
    });
    this.ended = once(this.process, "exit").then(([code, signal]) => (code ?? signal) as number | string);
    context.after(async () => {
      this.process.kill("SIGKILL");
      await this.ended;
    });
  }

  get lines(): readonly string[] {
    return this.#text.split("\n").slice(0, -1);
  }

  /** The first group of the line, when it has come. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const match = this.lines.map((line) => pattern.exec(line)).find((each) => each !== null && each !== undefined);
      if (match !== undefined && match !== null) return match[1] ?? match[0];
      assert.ok(this.process.stdout?.readable, `no line ${pattern} in: ${this.#text}`);
      await Promise.race([once(this.process.stdout as NodeJS.ReadableStream, "data"), this.ended]);
    }
  }

  get port(): Promise<number> {
    return this.line(/^port (\d+)$/).then(Number);
  }

  /** Resolves when it listens no more: it got the signal. */
  async refuses(context: TestContext): Promise<void> {
    const port = await this.port;
    for (let isOpen = true; isOpen; )
      isOpen = await KeptConnection.open(context, port).then(
        ({ socket }) => socket.destroy() !== undefined,
        () => false,
      );
  }
}

/** A connection that stays open until the server ends it. */
export class KeptConnection {
  readonly socket: Socket;
  #text = "";

  private constructor(socket: Socket) {
    this.socket = socket.setEncoding("utf8");
    socket.on("error", () => undefined);
    socket.on("data", (text: string) => {
      this.#text += text;
    });
  }

  static async open(context: TestContext, port: number, isTls = false, localAddress?: string): Promise<KeptConnection> {
    const at = { port, host: "127.0.0.1", ...(localAddress !== undefined && { localAddress }) };
    const socket = isTls ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
    context.after(() => socket.destroy());
    await once(socket, isTls ? "secureConnect" : "connect");
    return new KeptConnection(socket);
  }

  /** Sends a request and resolves with its whole answer; "": the connection ended without one. */
  async ask(path = "/"): Promise<string> {
    this.#text = "";
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    return this.answer();
  }

  async answer(): Promise<string> {
    while (!/end(?:\r\n0\r\n\r\n)?$/.test(this.#text) && !this.socket.destroyed)
      await Promise.race([once(this.socket, "data"), once(this.socket, "close")]);
    return this.#text;
  }

  /** Resolves when the server has ended it. */
  async ended(): Promise<void> {
    if (!this.socket.destroyed) await once(this.socket, "close");
  }
}
