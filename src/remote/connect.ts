/** From a configuration file to a connection with the procman that runs it. */

import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import { Client } from "../client/client.ts";
import type { Send } from "../client/send.ts";
import { type Location, locate } from "../config/locate.ts";
import { expiresIn, payloadOf } from "../contract/claims.ts";
import { signJwt } from "../os/jwt.ts";
import { monotonicMs } from "../os/monotonic.ts";
import { secretIn } from "../os/secret.ts";
import { interrupted, keeperOf, LOOK_MS, PATIENCE_MS, reach, serviceDown } from "./endpoint.ts";
import { exchange } from "./wire.ts";

/** No answer for so long: something is wrong. A stream shows a sign of life more often. Milliseconds. */
const SILENCE_MS = 30_000;
/** Of a token of one's own; a stream that lasts longer comes again with another. Seconds. */
const TOKEN_SECONDS = 3_600;

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export function connect(config: string | undefined): Promise<Client> {
  return connectTo(locate(config, process.cwd()));
}

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connectTo(location: Location, consumer = "cli"): Promise<Client> {
  await reach(location.stateDir, monotonicMs() + PATIENCE_MS);
  return new Client(sender(location, consumer));
}

/** A service that is started again just now has another address in a moment. */
function sender(location: Location, consumer: string): Send {
  const { stateDir } = location;
  return async (asked) => {
    for (const late = monotonicMs() + PATIENCE_MS; ; await sleep(LOOK_MS)) {
      const { hostname, port } = await reach(stateDir, late);
      const headers = { ...asked.headers, authorization: `Bearer ${tokenOf(location, consumer)}` };
      try {
        const silenceMs = SILENCE_MS + (asked.patienceSeconds ?? 0) * 1_000;
        return await exchange({ ...asked, headers, hostname, port, silenceMs });
      } catch (error) {
        if (asked.signal?.aborted) throw error;
        if (isRepeatable(asked.method, error as NodeJS.ErrnoException) && monotonicMs() <= late) continue;
        throw await lost(stateDir, asked.method, error as NodeJS.ErrnoException);
      }
    }
  };
}

async function lost(stateDir: string, method: string, error: NodeJS.ErrnoException): Promise<Error> {
  const keeper = await keeperOf(stateDir);
  return method !== "GET" && isCutOff(error) ? interrupted(error.message) : serviceDown(keeper, error.message);
}

/** Whoever may read the secret may do everything. It can be replaced at any time. */
function tokenOf({ name, stateDir }: Location, consumer: string): string {
  const claims = payloadOf({ audience: name, consumer, scopes: ["admin"], expires: expiresIn(TOKEN_SECONDS) });
  return signJwt(claims, secretOf(stateDir));
}

function secretOf(stateDir: string): Uint8Array {
  try {
    return secretIn(stateDir);
  } catch (cause) {
    throw new ProcmanError("state-folder", `Cannot sign requests, as the secret in ${stateDir} can't be had: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Nobody has heard it, or hearing it twice does no harm. */
function isRepeatable(method: string, { code = "" }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || (method === "GET" && isCutOff({ code }));
}

function isCutOff({ code = "" }: Pick<NodeJS.ErrnoException, "code">): boolean {
  return ["ECONNRESET", "EPIPE"].includes(code);
}
