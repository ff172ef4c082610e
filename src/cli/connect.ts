/** From a configuration file to a connection with the procman that runs it. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type Send } from "../client/client.ts";
import { type Location, locate } from "../config/locate.ts";
import type { Endpoint } from "../contract/records.ts";
import { keeperOf, LOOK_MS, PATIENCE_MS, reach, serviceDown } from "./endpoint.ts";

/** No answer for so long: something is wrong. Milliseconds. */
const SILENCE_MS = 30_000;

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connect(config: string | undefined): Promise<Client> {
  return connectTo(locate(config, process.cwd()));
}

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connectTo({ name, stateDir }: Location): Promise<Client> {
  const [{ signToken }] = await Promise.all([import("../contract/token.ts"), reach(stateDir, performance.now() + PATIENCE_MS)]);
  const token = await signToken({ audience: name, consumer: "cli", scopes: ["admin"] }, readFileSync(join(stateDir, "secret")), 60);
  return new Client(sender(stateDir, token));
}

/** A service that is started again just now has another address in a moment. */
function sender(stateDir: string, token: string): Send {
  return async (method, path) => {
    for (const late = performance.now() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
      const endpoint = await reach(stateDir, late);
      try {
        return await ask({ endpoint, token, method, path });
      } catch (error) {
        if (!isRepeatable(method, error as NodeJS.ErrnoException) || performance.now() > late)
          throw serviceDown(keeperOf(stateDir), (error as Error).message);
      }
    }
  };
}

/** Nobody has heard it, or hearing it twice does no harm. */
function isRepeatable(method: string, { code = "" }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || (method === "GET" && ["ECONNRESET", "EPIPE"].includes(code));
}

type Request = { readonly endpoint: Endpoint; readonly token: string; readonly method: string; readonly path: string };

function ask({ endpoint, token, method, path }: Request): ReturnType<Send> {
  const { hostname, port } = endpoint;
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const options = { host: reachable(hostname), port, method, path, headers, timeout: SILENCE_MS, agent: false };
    const asked = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
      response.on("error", reject);
    });
    asked.on("timeout", () => asked.destroy(new Error(`no answer from ${hostname}:${port} within ${SILENCE_MS / 1_000} s`)));
    asked.on("error", reject);
    asked.end();
  });
}

/** An address to listen on is not always one to connect to. */
function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}
