/** One POST, and whether another try makes sense. */

export type Outcome =
  | { readonly kind: "done"; readonly body: string }
  /** Nobody is there, or too much is asked for: the same again later. */
  | { readonly kind: "later"; readonly why: string; readonly afterMs?: number }
  /** The same again would be refused again. */
  | { readonly kind: "refused"; readonly why: string };

export type Post = {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Absent: it is not broken off. */
  readonly signal?: AbortSignal;
};

const MOST_ANSWER = 2_000;
/** Status codes of those who may take the same later. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Never rejects. The address is not in `why`: it may be a secret. */
export async function post(url: string, { body, headers, timeoutMs, signal }: Post): Promise<Outcome> {
  try {
    const late = AbortSignal.timeout(timeoutMs);
    const limit = signal === undefined ? late : AbortSignal.any([signal, late]);
    const response = await fetch(url, { method: "POST", body, headers, signal: limit });
    const answer = (await response.text()).slice(0, MOST_ANSWER);
    if (response.ok) return { kind: "done", body: answer };
    const why = `it was answered with ${response.status}${answer.trim() === "" ? "" : `: ${answer.trim().slice(0, 200)}`}`;
    if (!LATER.has(response.status)) return { kind: "refused", why };
    const afterMs = retryAfter(response.headers.get("retry-after"));
    return { kind: "later", why, ...(afterMs === undefined ? {} : { afterMs }) };
  } catch (error) {
    return { kind: "later", why: whyOf(error as Failure, timeoutMs) };
  }
}

/** Seconds, or a date. */
export function retryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), 600_000);
}

type Failure = Omit<Error, "cause"> & { readonly cause?: NodeJS.ErrnoException };

function whyOf({ name, message, cause }: Failure, timeoutMs: number): string {
  if (name === "TimeoutError") return `no answer within ${timeoutMs / 1_000} s`;
  return cause === undefined ? message : cause.message || cause.code || message;
}
