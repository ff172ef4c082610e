/** Requests to the API of a procman by its state folder. What has no answer gives undefined: procman may be killed at any moment. */
import { readFileSync } from "node:fs";
import { type RequestOptions, request } from "node:http";
import { join } from "node:path";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { OWNER_SCOPES } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";

const TIMEOUT_MS = 2_000;

// biome-ignore lint/suspicious/noExplicitAny: the caller knows the record of its route.
export type Answer = { readonly status: number; readonly body: any };

export class StateFolderApi {
  readonly #stateDir: string;
  readonly #name: string;

  /** `name`: of the configuration. */
  constructor(stateDir: string, name: string) {
    this.#stateDir = stateDir;
    this.#name = name;
  }

  /** undefined while it is not published. */
  get endpoint(): Endpoint | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#stateDir, "endpoint.json"), "utf8")) as Endpoint;
    } catch {
      return undefined;
    }
  }

  async ask(method: string, path: string, body?: object): Promise<Answer | undefined> {
    const { endpoint } = this;
    if (endpoint === undefined) return undefined;
    const type = body === undefined ? {} : { "content-type": "application/json" };
    try {
      const headers = { authorization: `Bearer ${this.#token()}`, ...type };
      return await send({ host: endpoint.hostname, port: endpoint.port, method, path, headers }, body);
    } catch {
      return undefined;
    }
  }

  #token(): string {
    const claims = {
      iss: "procman",
      aud: this.#name,
      sub: "test",
      iat: Math.floor(Date.now() / 1_000),
      scope: OWNER_SCOPES.join(" "),
    };
    return signJwt(claims, readFileSync(join(this.#stateDir, "secret")));
  }
}

function send(options: RequestOptions, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ agent: false, timeout: TIMEOUT_MS, ...options }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text || "null") }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error("no answer")));
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
