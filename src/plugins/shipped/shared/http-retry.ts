import { setTimeout as sleep } from "node:timers/promises";
import type { PluginLog } from "../../plugin.ts";

/** One POST, and whether another try makes sense. */

export type PostOutcome =
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
export async function post(url: string, { body, headers, timeoutMs, signal }: Post): Promise<PostOutcome> {
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
    return { kind: "later", why: whyOf(error as PostFailure, timeoutMs) };
  }
}

/** Seconds, or a date. */
export function retryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), 600_000);
}

type PostFailure = Omit<Error, "cause"> & { readonly cause?: NodeJS.ErrnoException };

function whyOf({ name, message, cause }: PostFailure, timeoutMs: number): string {
  if (name === "TimeoutError") return `no answer within ${timeoutMs / 1_000} s`;
  return cause === undefined ? message : cause.message || cause.code || message;
}

/** The same again until it is done: at first soon, then more and more rarely. */

const FIRST_MS = 1_000;
const LONGEST_MS = 60_000;

export type RetryOptions = {
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  /** What is tried, as in "Cannot post the message". */
  readonly what: string;
  /** What becomes of the rest in the meantime. */
  readonly meanwhile: string;
  /** Gives up after so many tries. Default: never. */
  readonly most?: number;
};

/** `stopped`: the signal came. A failure is told once, and when it is over. */
export async function retry(attempt: () => Promise<PostOutcome>, on: RetryOptions): Promise<"done" | "refused" | "stopped"> {
  const { log, signal, what, meanwhile, most = Number.POSITIVE_INFINITY } = on;
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt();
    if (outcome.kind === "done") {
      if (tries > 1) log.info(`${what}: it works again`);
      return "done";
    }
    if (signal.aborted) return "stopped";
    if (outcome.kind === "refused" || tries >= most) {
      log.error(`Cannot ${what}: ${outcome.why}; it is dropped`);
      return "refused";
    }
    if (tries === 1) log.warn(`Cannot ${what}: ${outcome.why}; tried again, ${meanwhile}`);
    await pause(outcome.afterMs ?? delayAfter(tries), signal);
  }
}

function delayAfter(tries: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (tries - 1)) * (0.75 + Math.random() / 2);
}

/** The signal ends it; the attempt that follows is the last one. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
