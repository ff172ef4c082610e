// Requests to procman's API, with a token as `procman token` creates it: HS256 with the secret of the state folder.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";

const TIMEOUT_MS = 2_000;

const base64url = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

export class Api {
  #folder;
  #name;

  /** `folder` is the state folder of the instance `name`. */
  constructor(folder, name) {
    this.#folder = folder;
    this.#name = name;
  }

  /** Address of the API; undefined while it is not published. */
  get endpoint() {
    try {
      return JSON.parse(readFileSync(join(this.#folder, "endpoint.json"), "utf8"));
    } catch {
      return undefined;
    }
  }

  /** @returns {Promise<{ status: number, body: any } | undefined>} undefined: no answer */
  async ask(method, path, body) {
    const { endpoint } = this;
    if (endpoint === undefined) return undefined;
    const type = body === undefined ? {} : { "content-type": "application/json" };
    try {
      return await send(
        endpoint,
        { method, path, headers: { authorization: `Bearer ${this.#token()}`, ...type } },
        body,
      );
    } catch {
      return undefined;
    }
  }

  #token() {
    const claims = {
      iss: "procman",
      aud: this.#name,
      sub: "kill-the-manager",
      iat: Math.floor(Date.now() / 1_000),
      scope: "admin",
    };
    const signed = `${base64url({ alg: "HS256" })}.${base64url(claims)}`;
    return `${signed}.${createHmac("sha256", readFileSync(join(this.#folder, "secret")))
      .update(signed)
      .digest("base64url")}`;
  }
}

function send({ hostname, port }, options, body) {
  return new Promise((resolve, reject) => {
    const call = request({ host: hostname, port, agent: false, timeout: TIMEOUT_MS, ...options }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, body: JSON.parse(text || "null") }));
      response.on("error", reject);
    });
    call.on("timeout", () => call.destroy(new Error("no answer")));
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
