import { compact } from "../core/base/compact.ts";
import { ERRORS, type ErrorCode, ProcmanError } from "../core/base/errors.ts";
import { printableLine } from "../core/base/printable.ts";
import { withoutEnd } from "../core/base/text-end.ts";
import type { ProblemRecord } from "../core/contract/records.ts";

/** A request, sent by `fetch` or by another implementation of HTTP. */
export type Request = {
  readonly method: "GET" | "POST";
  /** Path with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Time that the answer may take, in seconds. */
  readonly patienceSeconds?: number;
};

/** The required part of a `Response`. */
export type Reply = {
  readonly status: number;
  readonly headers: { readonly get: (name: string) => string | null };
  readonly text: () => Promise<string>;
  /** The body, streamed as it arrives; null: empty. */
  readonly body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null;
};

/** Sends a request with a token; rejects if there is no answer. A `ProcmanError` other than `NoAnswerError` means that a retry is pointless. */
export type SendRequest = (request: Request) => Promise<Reply>;

/** Time for another service to answer. Milliseconds. */
const REPLACED_MS = 3_000;
const RETRY_MS = 50;

/** Sends a request again that was not carried out, because the service was being replaced or stood still. Rejects like `send`. */
export async function sendUntilTaken(send: () => Promise<Reply>, forMs: number, signal?: AbortSignal): Promise<Reply> {
  let reply = await send();
  for (
    const late = Date.now() + forMs;
    isUnread(reply) && Date.now() < late && signal?.aborted !== true;
    reply = await send()
  )
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  return reply;
}

/** A service of 1.0.0 that stood still says 408: it takes its client for slow. */
function isUnread({ status, headers }: Reply): boolean {
  return status === 408 || (status === 503 && headers.get("retry-after") === "0");
}

export type FetchOptions = {
  /** Address of the API, such as `http://127.0.0.1:9000`. */
  readonly url: string;
  /** Token, as created by `procman token`. */
  readonly token: string;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
};

/** No answer came; a retry may get one. */
export class NoAnswerError extends ProcmanError {
  constructor(url: string, cause: unknown) {
    super("service-down", `Cannot reach procman at ${url}: ${reasonOf(cause)}`, { cause });
  }
}

/** Node's `fetch` has the reason in the cause of its error; for several addresses only as its code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, code } = (error.cause ?? {}) as { readonly message?: string; readonly code?: string };
  const detail = message || code;
  return detail === undefined ? error.message : `${error.message}: ${detail}`;
}

/** A transport that uses `fetch` of Node or of a browser. */
export function fetchSend({ url, token, fetch = globalThis.fetch }: FetchOptions): SendRequest {
  const base = withoutEnd(url, "/");
  const send: SendRequest = async ({ method, path, headers, body, signal }) => {
    const answer = fetch(
      `${base}${path}`,
      compact({
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
        body,
        signal,
      }),
    );
    return answer.catch((error: unknown) => {
      throw signal?.aborted ? error : new NoAnswerError(base, error);
    });
  };
  return (request) => sendUntilTaken(() => send(request), REPLACED_MS, request.signal);
}

/** Iterates over a body; some browsers have no async iterator for streams. */
export async function* chunksOf(body: Reply["body"]): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  if (!("getReader" in body)) return yield* body;
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // A consumer that stops early doesn't need the rest.
    void reader.cancel().catch(() => undefined);
  }
}

export function errorOf(status: number, text: string): Error {
  const problem = parsed(text);
  if (problem === undefined)
    return new ProcmanError(
      "service-down",
      `${status}: the server is not procman: ${printableLine(text.slice(0, 200))}`,
    );
  const { code, detail, problems = [], processes = [], taken } = problem;
  return Object.hasOwn(ERRORS, code)
    ? new ProcmanError(code as ErrorCode, detail, { faults: problems, processes, taken })
    : new ProcmanError("service-down", `${code}: ${detail}`);
}

/** undefined: not procman's format, for example the answer of a proxy. */
function parsed(text: string): ProblemRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<ProblemRecord> | null;
    return typeof value?.code === "string" && typeof value.detail === "string" ? (value as ProblemRecord) : undefined;
  } catch {
    return undefined;
  }
}
