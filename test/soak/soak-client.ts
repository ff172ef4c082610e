/** Requests and streams of many clients: their answers are counted, and those that were not expected are findings. */
import { readFileSync } from "node:fs";
import { get, type RequestOptions, request } from "node:http";
import { join } from "node:path";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { expiresIn, payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";

/** Longer than a request may wait for what it has asked for. Milliseconds. */
const TIMEOUT_MS = 60_000;
const TOKEN_SECONDS = 60;

/** `status` 0: no answer. */
export type Reply = { readonly status: number; readonly text: string; readonly ms: number };
type Ask = { readonly body?: object; readonly token?: string; readonly host?: string };

export class SoakClient {
  readonly #stateDir: string;
  readonly #name: string;

  /** `name`: of the configuration. */
  constructor(stateDir: string, name: string) {
    this.#stateDir = stateDir;
    this.#name = name;
  }

  /** One request over a separate connection. */
  ask(method: string, path: string, { body, token = this.token(), host }: Ask = {}): Promise<Reply> {
    const endpoint = this.#endpoint();
    if (endpoint === undefined) return Promise.resolve({ status: 0, text: "no endpoint", ms: 0 });
    const more = { ...(host === undefined ? {} : { host }), ...(body && { "content-type": "application/json" }) };
    return send({ ...endpoint, method, path, headers: { authorization: `Bearer ${token}`, ...more } }, body);
  }

  /** Reads a stream for this time, from its answer on. Resolves with the data of its events, and whether procman has ended it. */
  stream(
    path: string,
    ms: number,
  ): Promise<{ readonly status: number; readonly items: readonly string[]; readonly isCut: boolean }> {
    const endpoint = this.#endpoint();
    if (endpoint === undefined) return Promise.resolve({ status: 0, items: [], isCut: true });
    return new Promise((resolve) => {
      let [text, status, isOver] = ["", 0, false];
      const end = (isCut: boolean): void =>
        resolve({
          status,
          items: text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : [])),
          isCut,
        });
      const options = { ...endpoint, path, agent: false, headers: { authorization: `Bearer ${this.token()}` } };
      let timer = setTimeout(() => call.destroy(), TIMEOUT_MS);
      const call = get(options, (response) => {
        status = response.statusCode ?? 0;
        clearTimeout(timer);
        timer = setTimeout(() => {
          isOver = true;
          call.destroy();
        }, ms);
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("close", () => end(!isOver));
      });
      call.on("error", () => end(!isOver)).on("close", () => clearTimeout(timer));
    });
  }

  /** A request to another server on this machine. */
  visit(port: number): Promise<Reply> {
    return send({ host: "127.0.0.1", port, path: "/" });
  }

  token(): string {
    // As those of commands: each is used once, and valid for a minute.
    const claims = payloadOf({
      audience: this.#name,
      consumer: "soak",
      scopes: ["admin", "input"],
      expires: expiresIn(TOKEN_SECONDS),
    });
    return signJwt(claims, readFileSync(join(this.#stateDir, "secret")));
  }

  /** undefined: none is published. */
  #endpoint(): { readonly host: string; readonly port: number } | undefined {
    try {
      const { hostname, port } = JSON.parse(readFileSync(join(this.#stateDir, "endpoint.json"), "utf8")) as Endpoint;
      return { host: hostname, port: port as number };
    } catch {
      return undefined;
    }
  }
}

function send(options: RequestOptions, body?: object): Promise<Reply> {
  const began = performance.now();
  return new Promise((resolve) => {
    const reply = (status: number, text: string): void => resolve({ status, text, ms: performance.now() - began });
    const call = request({ ...options, agent: false, timeout: TIMEOUT_MS }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("end", () => reply(response.statusCode ?? 0, text));
      response.on("error", ({ message }) => reply(0, message));
    });
    call.on("timeout", () => call.destroy(new Error("timeout")));
    call.on("error", ({ message }) => reply(0, message));
    call.end(body && JSON.stringify(body));
  });
}
