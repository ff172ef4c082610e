/** The API of a procman on another machine, by https. */
import { readFileSync } from "node:fs";
import { errnoOf, ProcmanError } from "../../core/base/errors.ts";
import { isLoopback } from "../../core/base/loopback.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { readWhole } from "../../core/os/careful-files.ts";
import type { AnswerCheck } from "../client.ts";
import { NoAnswerError, type SendRequest } from "../transport.ts";
import { exchange } from "./http10.ts";

export type RemoteApi = {
  /** As the user calls the machine. */
  readonly host: string;
  /** Address of the API; it may have a path, below which a reverse proxy serves it. */
  readonly url: string;
  /** Absolute path of the file with the token, which may be replaced at any time. */
  readonly tokenFile: string;
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

/** Sends requests with the token of the file. */
export function remoteSender(remote: RemoteApi, patience: RemotePatience): SendRequest {
  const send = bareSender(remote, patience);
  return async (request) =>
    send({ ...request, headers: { ...request.headers, authorization: `Bearer ${tokenIn(remote)}` } });
}

/** Sends requests as they are. */
export function bareSender(remote: RemoteApi, { silenceMs, answerMs }: RemotePatience): SendRequest {
  const { protocol, hostname, port, pathname } = new URL(remote.url);
  const isTls = protocol === "https:";
  const place = { hostname: hostname.replace(/^\[|\]$/g, ""), port: Number(port) || (isTls ? 443 : 80) };
  const prefix = withoutEnd(pathname, "/");
  return async (request) => {
    const late = answerMs === undefined ? undefined : AbortSignal.timeout(answerMs);
    const signals = [request.signal, late].filter((signal) => signal !== undefined);
    const patience = silenceMs + (request.patienceSeconds ?? 0) * 1_000;
    const tls = isTls ? { tls: remote.ca === undefined ? {} : { ca: authoritiesIn(remote.ca) } } : {};
    const wire = {
      ...place,
      ...tls,
      path: `${prefix}${request.path}`,
      silenceMs: patience,
      signal: AbortSignal.any(signals),
    };
    const failed = (error: Error): never => {
      if (late?.aborted) throw unreachable(remote, new Error(`no whole answer within ${(answerMs ?? 0) / 1_000} s`));
      throw request.signal?.aborted ? error : unreachable(remote, error);
    };
    const reply = await exchange({ ...request, ...wire }).catch(failed);
    return { ...reply, text: () => reply.text().catch(failed) };
  };
}

/** Whether a token may travel to this address: encrypted, or within this machine. */
export function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopback(hostname);
}

function unreachable({ host, url, ca }: RemoteApi, error: Error): ProcmanError {
  const isUnknown = ca === undefined && UNKNOWN_AUTHORITY.includes(errnoOf(error));
  const hint = isUnknown
    ? `; if that certificate is intended, name its authority: procman host add ${host} ${url} --ca FILE …`
    : "";
  return new NoAnswerError(`${url}, the host ${host}`, `${error.message}${hint}`);
}

/** The token of its file. @throws {ProcmanError} `usage` */
export function tokenIn({ host, tokenFile }: RemoteApi): string {
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
