/** Requests of the command line, by `node:http`: loading `fetch` takes longer than a command. */
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Reply, Request, Send } from "../client/send.ts";
import type { Endpoint } from "../contract/records.ts";
import { keeperOf, LOOK_MS, PATIENCE_MS, reach, serviceDown } from "./endpoint.ts";

/** No answer for so long: something is wrong. A stream shows a sign of life more often. Milliseconds. */
const SILENCE_MS = 30_000;

/** A service that is started again just now has another address in a moment. */
export function sender(stateDir: string, token: () => string): Send {
  return async (asked) => {
    for (const late = performance.now() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
      const endpoint = await reach(stateDir, late);
      try {
        return await ask(endpoint, { ...asked, headers: { ...asked.headers, authorization: `Bearer ${token()}` } });
      } catch (error) {
        if (asked.signal?.aborted) throw error;
        if (!isRepeatable(asked.method, error as NodeJS.ErrnoException) || performance.now() > late)
          throw serviceDown(keeperOf(stateDir), (error as Error).message);
      }
    }
  };
}

/** Nobody has heard it, or hearing it twice does no harm. */
function isRepeatable(method: string, { code = "" }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || (method === "GET" && ["ECONNRESET", "EPIPE"].includes(code));
}

function ask({ hostname, port }: Endpoint, { method, path, headers, body, signal, patienceSeconds = 0 }: Request): Promise<Reply> {
  const silence = SILENCE_MS + patienceSeconds * 1_000;
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: reachable(hostname),
        port,
        method,
        path,
        headers: { ...headers, ...length },
        timeout: silence,
        agent: false,
        ...(signal && { signal }),
      },
      (response) =>
        resolve({
          status: response.statusCode ?? 0,
          headers: { get: (name) => String(response.headers[name] ?? "") || null },
          text: () => text(response),
          body: response as AsyncIterable<Uint8Array>,
        }),
    );
    asked.on("timeout", () => asked.destroy(new Error(`no answer from ${hostname}:${port} within ${silence / 1_000} s`)));
    asked.on("error", reject);
    asked.end(body);
  });
}

/** An address to listen on is not always one to connect to. */
function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}
