/** The API of a procman on another machine, by https; or of another user on this one, by the socket of a group. */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf, ProcmanError } from "../../core/base/errors.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { readWhole } from "../../core/os/careful-files.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import type { AnswerCheck } from "../client.ts";
import { NoAnswerError, type Reply, type SendRequest } from "../transport.ts";
import { addressIn } from "./host-address.ts";
import { exchange, type WireOptions } from "./http10.ts";

export type RemoteApi = {
  /** As the user calls the machine. */
  readonly host: string;
  /** Address of the API; it may have a path, below which a reverse proxy serves it. Or `unix:` and the path of a socket. */
  readonly url: string;
  /** Absolute path of the file with the token, which may be replaced at any time. Absent: the socket of a group needs none. */
  readonly tokenFile?: string;
  /** Absolute path of a file with the authorities that count, in PEM. */
  readonly ca?: string;
  /** How its answers are checked. */
  readonly check: AnswerCheck;
};

/** TLS errors of a certificate whose authority is unknown (x509 verification codes of OpenSSL). */
const UNKNOWN_AUTHORITY = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
];

/** `silenceMs`: time without data after which a request fails; `answerMs`: for the whole answer. Milliseconds. */
type RemotePatience = { readonly silenceMs: number; readonly answerMs?: number };

/** Time for the service of a procman of this machine to be started again. Milliseconds. */
const RESTART_MS = 3_000;
const RETRY_MS = 50;

/** Sends requests with the token of the file. */
export function remoteSender(remote: RemoteApi, patience: RemotePatience): SendRequest {
  const send = bareSender(remote, patience);
  return async (request) => {
    const token = tokenIn(remote);
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return send({ ...request, headers: { ...request.headers, ...authorization } });
  };
}

/** Sends requests as they are. */
export function bareSender(remote: RemoteApi, { silenceMs, answerMs }: RemotePatience): SendRequest {
  const place = placeOf(remote);
  return async (request) => {
    const late = answerMs === undefined ? undefined : AbortSignal.timeout(answerMs);
    const signals = [request.signal, late].filter((signal) => signal !== undefined);
    const patience = silenceMs + (request.patienceSeconds ?? 0) * 1_000;
    const tls = place.isTls ? { tls: remote.ca === undefined ? {} : { ca: authoritiesIn(remote.ca) } } : {};
    const wire = {
      ...request,
      ...place.wire,
      ...tls,
      path: `${place.prefix}${request.path}`,
      silenceMs: patience,
      signal: AbortSignal.any(signals),
    };
    const failed = (error: Error): never => {
      if (late?.aborted) throw unreachable(remote, new Error(`no whole answer within ${(answerMs ?? 0) / 1_000} s`));
      throw request.signal?.aborted ? error : unreachable(remote, error);
    };
    const reply = await (place.wire.socket === undefined ? exchange(wire) : exchangeHere(wire)).catch(failed);
    return { ...reply, text: () => reply.text().catch(failed) };
  };
}

type RemotePlace = {
  readonly wire: Pick<WireOptions, "hostname" | "port" | "socket">;
  readonly isTls: boolean;
  /** The beginning of each path. */
  readonly prefix: string;
};

function placeOf({ url }: RemoteApi): RemotePlace {
  const address = addressIn(url);
  if (address.kind === "unix")
    return { wire: { hostname: "localhost", port: 0, socket: address.socket }, isTls: false, prefix: "" };
  const { protocol, hostname, port, pathname } = new URL(url);
  const isTls = protocol === "https:";
  const wire = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (isTls ? 443 : 80) };
  return { wire, isTls, prefix: withoutEnd(pathname, "/") };
}

/** Nobody listens on a socket while its service is started again. */
async function exchangeHere(request: Parameters<typeof exchange>[0]): Promise<Reply> {
  for (const late = monotonicMs() + RESTART_MS; ; await sleep(RETRY_MS))
    try {
      return await exchange(request);
    } catch (error) {
      const isDown = errnoOf(error) === "ECONNREFUSED" && monotonicMs() < late;
      if (!isDown || request.signal?.aborted === true) throw error;
    }
}

function unreachable({ host, url, ca }: RemoteApi, error: Error): ProcmanError {
  if (addressIn(url).kind === "unix") return new NoAnswerError(url, withoutSocket(error));
  const isUnknown = ca === undefined && UNKNOWN_AUTHORITY.includes(errnoOf(error));
  const hint = isUnknown
    ? `; if that certificate is intended, name its authority: procman host add ${host} ${url} --ca FILE …`
    : "";
  return new NoAnswerError(`${url}, the host ${host}`, `${error.message}${hint}`);
}

/** Why nobody answers at a socket, and what to look at. */
function withoutSocket(error: Error): string {
  const { message } = error;
  switch (errnoOf(error)) {
    case "EACCES":
      return `${message}; its group may connect: "id" shows your groups, and who was added to one logs in again`;
    case "ENOENT":
    case "ECONNREFUSED":
      return `${message}; no procman is running there, or its configuration has no "api.group" any more`;
    default:
      return message;
  }
}

/** The token of its file; undefined: it needs none. @throws {ProcmanError} `usage` */
export function tokenIn({ host, tokenFile }: RemoteApi): string | undefined {
  if (tokenFile === undefined) return undefined;
  const token = textIn(tokenFile, host).trim();
  if (/^[\w.-]+$/.test(token)) return token;
  throw new ProcmanError(
    "usage",
    `Cannot reach ${host}: ${tokenFile} has no token; "procman token" on that machine prints one`,
  );
}

function textIn(file: string, host: string): string {
  try {
    return readWhole(file).toString("utf8");
  } catch (cause) {
    throw new ProcmanError("usage", `Cannot reach ${host}: its token file can't be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function authoritiesIn(file: string): string {
  return readFileSync(file, "utf8");
}
