/** From a configuration file to a connection with the procman that runs it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, type ClientRequest, type Transport } from "../client/client.ts";
import { type Location, locate } from "../config/locate.ts";
import { keeperOf, LOOK_MS, PATIENCE_MS, reach, serviceDown } from "./endpoint.ts";
import { ownToken } from "./own-token.ts";
import { exchange, openStream, type WireRequest } from "./wire.ts";

/** No answer for so long: something is wrong. Milliseconds. */
const SILENCE_MS = 30_000;

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export function connect(config: string | undefined): Promise<Client> {
  return connectTo(locate(config, process.cwd()));
}

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connectTo(location: Location, consumer = "cli"): Promise<Client> {
  await reach(location.stateDir, performance.now() + PATIENCE_MS);
  return new Client(transportTo(location, consumer));
}

/** A service that is started again just now has another address in a moment. */
function transportTo({ name, stateDir }: Location, consumer: string): Transport {
  const attempt = async <T>(request: ClientRequest, talk: (to: WireRequest) => Promise<T>): Promise<T> => {
    for (const late = performance.now() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
      const { hostname, port } = await reach(stateDir, late);
      // Both may be others than the last time: a secret can be replaced, a token is good for a minute.
      const authorization = `Bearer ${ownToken(name, consumer, readFileSync(join(stateDir, "secret")))}`;
      const { method, path, headers, waitSeconds = 0 } = request;
      try {
        return await talk({
          hostname,
          port,
          method,
          path,
          headers: { ...headers, authorization },
          silenceMs: SILENCE_MS + waitSeconds * 1_000,
        });
      } catch (error) {
        if ((error as Error).name === "AbortError") throw error;
        if (!isRepeatable(method, error as NodeJS.ErrnoException) || performance.now() > late)
          throw serviceDown(keeperOf(stateDir), (error as Error).message);
      }
    }
  };
  return {
    send: (request) =>
      attempt(request, async (to) => {
        const { status, headers, body } = await exchange(to);
        return { status, headers, body: isJson(headers) ? JSON.parse(body) : body };
      }),
    stream: (request, signal) => attempt(request, (to) => openStream({ ...to, silenceMs: 0, signal })),
  };
}

/** A body that says nothing of its type is JSON, too. */
function isJson({ "content-type": type = "application/json" }: Readonly<Record<string, string>>): boolean {
  return /[/+]json\b/.test(type);
}

/** Nobody has heard it, or hearing it twice does no harm. */
function isRepeatable(method: string, { code = "" }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || (method === "GET" && ["ECONNRESET", "EPIPE"].includes(code));
}
