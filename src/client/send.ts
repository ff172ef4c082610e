/** How requests travel: by `fetch`, or by whatever else speaks HTTP. */

export type Request = {
  readonly method: "GET" | "POST";
  /** With the query, from `/` on. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** The answer may take so long. Seconds. */
  readonly patienceSeconds?: number;
};

/** The part of a `Response` that is needed. */
export type Reply = {
  readonly status: number;
  readonly headers: { readonly get: (name: string) => string | null };
  readonly text: () => Promise<string>;
  /** What comes, as it comes; null: nothing. */
  readonly body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null;
};

/** Sends one request with the token; rejects when there is no answer. A `ProcmanError` says that there will be none, whatever one tries. */
export type Send = (request: Request) => Promise<Reply>;

export type FetchOptions = {
  /** As `http://127.0.0.1:9000`. */
  readonly url: string;
  /** Of `procman token`. */
  readonly token: string;
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch;
};

/** By `fetch`, which Node and browsers have. */
export function fetchSend({ url, token, fetch = globalThis.fetch }: FetchOptions): Send {
  const base = url.replace(/\/+$/, "");
  return ({ method, path, headers, body, signal }) =>
    fetch(`${base}${path}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
}

/** Not every browser lets one iterate over a stream. */
export async function* chunksOf(body: Reply["body"]): AsyncGenerator<Uint8Array, void, undefined> {
  if (body === null) return;
  if (!("getReader" in body)) return yield* body;
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // Whoever stops in the middle wants no more of it.
    void reader.cancel().catch(() => undefined);
  }
}
