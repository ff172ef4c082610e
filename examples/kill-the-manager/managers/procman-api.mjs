// A few requests to procman's API, with a token made as `procman token` makes it: HS256 with the secret of the state folder.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";

const PATIENCE_MS = 2_000;

const base64url = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

export class Api {
  #folder;
  #name;

  /** `folder` is the state folder of the instance `name`. */
  constructor(folder, name) {
    this.#folder = folder;
    this.#name = name;
  }

  /** Where the API is; undefined while nobody says so. */
  get endpoint() {
    try {
      return JSON.parse(readFileSync(join(this.#folder, "endpoint.json"), "utf8"));
    } catch {
      return undefined;
    }
  }

  /** @returns {Promise<{ status: number, body: any } | undefined>} undefined: no answer */
  async ask(method, path) {
    const { endpoint } = this;
    if (endpoint === undefined) return undefined;
    try {
      return await send(endpoint, { method, path, headers: { authorization: `Bearer ${this.#token()}` } });
    } catch {
      return undefined;
    }
  }

  #token() {
    const claims = { iss: "procman", aud: this.#name, sub: "kill-the-manager", iat: Math.floor(Date.now() / 1_000), scope: "admin" };
    const signed = `${base64url({ alg: "HS256" })}.${base64url(claims)}`;
    return `${signed}.${createHmac("sha256", readFileSync(join(this.#folder, "secret")))
      .update(signed)
      .digest("base64url")}`;
  }
}

function send({ hostname, port }, options) {
  return new Promise((resolve, reject) => {
    const asked = request({ host: hostname, port, agent: false, timeout: PATIENCE_MS, ...options }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode, body: JSON.parse(text || "null") }));
      response.on("error", reject);
    });
    asked.on("timeout", () => asked.destroy(new Error("no answer")));
    asked.on("error", reject);
    asked.end();
  });
}
