/** A connection that log messages go to, by TCP or TLS: made when it is needed, made again when it has broken. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Outcome } from "./post.ts";

export type StreamTarget = { readonly isTls: boolean; readonly host: string; readonly port: number; readonly timeoutMs: number };

/** A peer that has closed its end answers the first packet with a reset: so long it is waited for. Milliseconds. */
const RESET_MS = 50;

export class StreamSink {
  readonly #target: StreamTarget;
  #socket: Socket | undefined;
  #problem: string | undefined;

  constructor(target: StreamTarget) {
    this.#target = target;
  }

  /** Done when the system has taken all of it, and the connection has not broken. There is no answer in syslog. */
  async send(bytes: Buffer): Promise<Outcome> {
    try {
      const socket = this.#socket ?? (await this.#connect());
      await this.#write(socket, bytes);
      return { kind: "done", body: "" };
    } catch (error) {
      this.close();
      return { kind: "later", why: (error as Error).message };
    }
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  /** What was written goes out before the end. */
  async end(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.setTimeout(1_000, () => socket.destroy());
      socket.end();
    });
  }

  #connect(): Promise<Socket> {
    const { isTls, host, port, timeoutMs } = this.#target;
    this.#problem = undefined;
    return new Promise((resolve, reject) => {
      const socket = isTls ? connectTls({ host, port, servername: host }) : connect({ host, port });
      const late = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs / 1_000} s`)), timeoutMs);
      socket.once(isTls ? "secureConnect" : "connect", () => {
        clearTimeout(late);
        this.#socket = socket;
        resolve(socket);
      });
      socket.on("error", ({ message }) => {
        this.#problem = message;
      });
      // Nobody answers by syslog; what comes is not kept.
      socket.resume();
      socket.once("close", () => {
        clearTimeout(late);
        this.#problem ??= "the other side has closed the connection";
        if (this.#socket === socket) this.#socket = undefined;
        reject(new Error(this.#problem));
      });
    });
  }

  #write(socket: Socket, bytes: Buffer): Promise<void> {
    const { timeoutMs } = this.#target;
    return new Promise((resolve, reject) => {
      const broken = (): void => {
        clearTimeout(late);
        reject(new Error(this.#problem ?? "the connection has broken"));
      };
      const late = setTimeout(() => socket.destroy(new Error(`nothing was taken within ${timeoutMs / 1_000} s`)), timeoutMs);
      if (socket.destroyed) return broken();
      socket.once("close", broken);
      socket.write(bytes, () => {
        clearTimeout(late);
        setTimeout(() => {
          socket.off("close", broken);
          if (socket.destroyed) broken();
          else resolve();
        }, RESET_MS);
      });
    });
  }
}
