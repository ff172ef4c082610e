/** Messages as lines of JSON on two streams. What is not a message gets an answer that says why; the session goes on. */
import type { Readable, Writable } from "node:stream";
import { serializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { isObject } from "../../core/base/schema-check.ts";

/** Longest message. Bytes. */
export const MAX_MESSAGE_BYTES: number = 4 * 1024 * 1024;
/** JSON-RPC 2.0, 5.1. */
const NOT_JSON = -32_700;
const NOT_A_MESSAGE = -32_600;
const NEWLINE = 0x0a;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #onEnd: () => void;
  #parts: Buffer[] = [];
  #bytes = 0;

  /** `onEnd`: the client sends nothing more. */
  constructor(input: Readable, output: Writable, onEnd: () => void) {
    this.#input = input;
    this.#output = output;
    this.#onEnd = onEnd;
  }

  start(): Promise<void> {
    this.#input.on("data", (chunk: Buffer) => this.#take(chunk));
    for (const event of ["end", "close", "error"]) this.#input.once(event, this.#onEnd);
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#output.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    this.#input.pause();
    this.onclose?.();
    return Promise.resolve();
  }

  #take(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      this.#endLine();
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
  }

  /** Keeps a part of the line; of one that is too long, only its length. */
  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > MAX_MESSAGE_BYTES) this.#parts = [];
    else this.#parts.push(part);
  }

  #endLine(): void {
    const text = Buffer.concat(this.#parts).toString("utf8").trim();
    const bytes = this.#bytes;
    this.#parts = [];
    this.#bytes = 0;
    if (bytes > MAX_MESSAGE_BYTES)
      return this.#refuse(NOT_A_MESSAGE, `the message has ${bytes} bytes, and may have ${MAX_MESSAGE_BYTES}`);
    if (text !== "") this.#read(text);
  }

  #read(text: string): void {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      return this.#refuse(NOT_JSON, `not JSON: ${(error as Error).message}; send one JSON-RPC message a line`);
    }
    const { success, data } = JSONRPCMessageSchema.safeParse(value);
    if (success) return this.onmessage?.(data as JSONRPCMessage);
    const why = Array.isArray(value)
      ? "batches are not part of MCP; send one message a line"
      : "not a JSON-RPC 2.0 message";
    this.#refuse(NOT_A_MESSAGE, why, isObject(value) ? value.id : undefined);
  }

  /** `id`: as far as it can be read; MCP leaves it out otherwise. */
  #refuse(code: number, why: string, id?: unknown): void {
    const known = typeof id === "string" || Number.isSafeInteger(id) ? { id: id as string | number } : {};
    const answer = { jsonrpc: "2.0" as const, ...known, error: { code, message: `Cannot read the message: ${why}` } };
    void this.send(answer as JSONRPCMessage).catch((error: Error) => this.onerror?.(error));
  }
}
