/** Connects to the procman that runs a configuration file. */

import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../base/errors.ts";
import { Client } from "../client/client.ts";
import type { SendRequest } from "../client/transport.ts";
import { type Location, locate } from "../config/find-config.ts";
import { expiresIn, payloadOf } from "../contract/token-claims.ts";
import { monotonicMs } from "../os/clock.ts";
import { signJwt } from "../os/jwt.ts";
import { secretIn } from "../os/secret.ts";
import { CONNECT_TIMEOUT_MS, interrupted, keeperOf, POLL_MS, reach, serviceDown } from "./endpoint-file.ts";
import { exchange } from "./http10.ts";

/** Time without data after which a request fails; streams send heartbeats more often. Milliseconds. */
const SILENCE_MS = 30_000;
/** Validity of the client's own tokens, in seconds; a longer stream reconnects with a new token. */
const TOKEN_SECONDS = 3_600;

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export function connect(config: string | undefined): Promise<Client> {
  return connectTo(locate(config, process.cwd()));
}

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connectTo(location: Location, consumer = "cli"): Promise<Client> {
  await reach(location.stateDir, monotonicMs() + CONNECT_TIMEOUT_MS);
  return new Client(sender(location, consumer));
}

/** Sends requests to the current address, which changes when the service restarts. */
function sender(location: Location, consumer: string): SendRequest {
  const { stateDir } = location;
  return async (request) => {
    for (const deadline = monotonicMs() + CONNECT_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      const { hostname, port } = await reach(stateDir, deadline);
      const headers = { ...request.headers, authorization: `Bearer ${tokenOf(location, consumer)}` };
      try {
        const silenceMs = SILENCE_MS + (request.patienceSeconds ?? 0) * 1_000;
        return await exchange({ ...request, headers, hostname, port, silenceMs });
      } catch (error) {
        if (request.signal?.aborted) throw error;
        if (isRepeatable(request.method, error as NodeJS.ErrnoException) && monotonicMs() <= deadline) continue;
        throw await lost(stateDir, request.method, error as NodeJS.ErrnoException);
      }
    }
  };
}

async function lost(stateDir: string, method: string, error: NodeJS.ErrnoException): Promise<Error> {
  const keeper = await keeperOf(stateDir);
  return method !== "GET" && isCutOff(error) ? interrupted(error.message) : serviceDown(keeper, error.message);
}

/** A user who may read the secret may do everything. The secret can be replaced at any time. */
function tokenOf({ name, stateDir }: Location, consumer: string): string {
  const claims = payloadOf({ audience: name, consumer, scopes: ["admin"], expires: expiresIn(TOKEN_SECONDS) });
  return signJwt(claims, secretOf(stateDir));
}

function secretOf(stateDir: string): Uint8Array {
  try {
    return secretIn(stateDir);
  } catch (cause) {
    throw new ProcmanError("state-folder", `Cannot sign requests: the secret in ${stateDir} can't be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** True if the request was not received, or repeating it does no harm. */
function isRepeatable(method: string, { code = "" }: NodeJS.ErrnoException): boolean {
  return code === "ECONNREFUSED" || (method === "GET" && isCutOff({ code }));
}

function isCutOff({ code = "" }: Pick<NodeJS.ErrnoException, "code">): boolean {
  return ["ECONNRESET", "EPIPE"].includes(code);
}
