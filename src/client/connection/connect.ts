/** Connects to the procman that runs a configuration file. */
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Location } from "../../core/config/find-config.ts";
import { ROUTES } from "../../core/contract/routes.ts";
import { type Claims, DASHBOARD_SECONDS, expiresIn, OWNER_SCOPES, payloadOf } from "../../core/contract/token-claims.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { signJwt } from "../../core/os/jwt.ts";
import { storedSecret } from "../../core/os/secret.ts";
import { Client } from "../client.ts";
import type { StreamObserver } from "../subscription.ts";
import { type Request, type SendRequest, sendUntilTaken } from "../transport.ts";
import { CONNECT_TIMEOUT_MS, interrupted, keeperOf, POLL_MS, resolveEndpoint, serviceDown } from "./endpoint-file.ts";
import { exchange } from "./http10.ts";
import { type RemoteApi, remoteSender } from "./remote-api.ts";

/** Time without data after which a request fails; streams send heartbeats more often. Milliseconds. */
const SILENCE_MS = 30_000;
/** Validity of the client's own tokens, in seconds, beyond the time that the answer may take: each request has another. */
const TOKEN_SECONDS = 60;
/** The same of a stream; a longer one reconnects. */
const STREAM_SECONDS = 3_600;

/** How long to wait, in milliseconds. */
type Patience = {
  /** For a service that is being restarted. */
  readonly connectMs: number;
  /** Without data, until a request fails. */
  readonly silenceMs: number;
  /** Until the whole answer of another machine must be here. Default: no limit. */
  readonly answerMs?: number;
};

const PATIENCE: Patience = { connectMs: CONNECT_TIMEOUT_MS, silenceMs: SILENCE_MS };

/** Whose requests they are, and what the tokens may do that are signed for them. */
export type TokenHolder = Pick<Claims, "consumer" | "scopes" | "limits" | "by">;

/** Where a procman is: on this machine, or behind an address. */
export type ApiPlace = Location | RemoteApi;

/**
 * `holder`: with all rights, or with these. `observer`: of the stream of events.
 *
 * @throws {ProcmanError} `no-daemon`, `service-down`
 */
export async function connectTo(
  place: ApiPlace,
  holder: string | TokenHolder = "cli",
  patience: Patience = PATIENCE,
  observer?: StreamObserver,
): Promise<Client> {
  if ("url" in place) return new Client(remoteSender(place, patience), observer, place.check);
  await resolveEndpoint(place.stateDir, monotonicMs() + patience.connectMs);
  const claims = typeof holder === "string" ? { consumer: holder, scopes: OWNER_SCOPES } : holder;
  return new Client(sender(place, claims, patience), observer);
}

/** Sends requests to the current address, which changes when the service restarts. */
function sender(location: Location, holder: TokenHolder, patience: Patience): SendRequest {
  const { stateDir } = location;
  const send: SendRequest = async (request) => {
    for (const deadline = monotonicMs() + patience.connectMs; ; await sleep(POLL_MS)) {
      const { hostname, port, socket, tls } = await resolveEndpoint(stateDir, deadline);
      const secret = await secretOf(stateDir, deadline);
      const headers = {
        ...request.headers,
        authorization: `Bearer ${tokenOf({ ...holder, audience: location.name, seconds: validityOf(request) }, secret)}`,
      };
      try {
        const silenceMs = patience.silenceMs + (request.patienceSeconds ?? 0) * 1_000;
        return await exchange({ ...request, headers, hostname, port, socket, tls, silenceMs });
      } catch (error) {
        if (request.signal?.aborted) throw error;
        if (isRepeatable(request, error as NodeJS.ErrnoException) && monotonicMs() <= deadline) continue;
        throw await lost(stateDir, request.method, error as NodeJS.ErrnoException);
      }
    }
  };
  return (request) => sendUntilTaken(() => send(request), patience.connectMs, request.signal);
}

async function lost(stateDir: string, method: string, error: NodeJS.ErrnoException): Promise<Error> {
  const keeper = await keeperOf(stateDir);
  return method !== "GET" && isCutOff(error) ? interrupted(error.message) : serviceDown(keeper, error.message);
}

type TokenOrder = TokenHolder & { readonly audience: string; readonly seconds: number };

/** A user who may read the secret may do everything. The secret can be replaced at any time. */
function tokenOf({ seconds, ...claims }: TokenOrder, secret: Uint8Array): string {
  // An administrator often becomes the user of procman.
  const { SUDO_USER: user } = process.env;
  return signJwt(payloadOf({ ...claims, expires: expiresIn(seconds), ...(user && { user }) }), secret);
}

function validityOf({ path, headers, patienceSeconds = 0 }: Request): number {
  // What the page gets for its code ends with this token.
  if (path === ROUTES.code.path) return DASHBOARD_SECONDS;
  return (headers.accept === "text/event-stream" ? STREAM_SECONDS : TOKEN_SECONDS) + patienceSeconds;
}

/**
 * The secret of a running procman, which writes a lost one again within a second: another one would void all tokens.
 *
 * @param deadline monotonic milliseconds
 * @throws {ProcmanError} `state-folder`
 */
export async function secretOf(stateDir: string, deadline: number): Promise<Uint8Array> {
  for (; ; await sleep(POLL_MS)) {
    const secret = readSecret(stateDir);
    if (secret !== undefined) return secret;
    if (monotonicMs() > deadline)
      throw new ProcmanError(
        "state-folder",
        `Cannot sign requests: ${stateDir} has no secret, and the running procman can't write it`,
      );
  }
}

function readSecret(stateDir: string): Uint8Array | undefined {
  try {
    return storedSecret(stateDir);
  } catch (cause) {
    if (cause instanceof ProcmanError) throw cause;
    throw new ProcmanError(
      "state-folder",
      `Cannot sign requests: the secret in ${stateDir} can't be read: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/** True if the request was not received, or repeating it does no harm. */
function isRepeatable({ method, path }: Request, { code = "" }: NodeJS.ErrnoException): boolean {
  return (
    ["ECONNREFUSED", "ENOENT"].includes(code) || ((method === "GET" || SAME_TWICE.test(path)) && isCutOff({ code }))
  );
}

const SAME_TWICE = /\/(?:stop|block|unblock|disable|enable|launch)(?:\?|$)/;

function isCutOff({ code = "" }: Pick<NodeJS.ErrnoException, "code">): boolean {
  return ["ECONNRESET", "EPIPE"].includes(code);
}
