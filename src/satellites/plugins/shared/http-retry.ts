import { setTimeout as sleep } from "node:timers/promises";
import type { PluginLog } from "../../../core/plugins/plugin.ts";

/** One POST, and whether another try makes sense. */

export type PostOutcome =
  | { readonly kind: "done"; readonly body: string }
  /** Unreachable or overloaded: the same request may succeed later. */
  | { readonly kind: "later"; readonly reason: string; readonly afterMs?: number }
  /** The same request would be refused again. */
  | { readonly kind: "refused"; readonly reason: string };

export type Post = {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Aborts the request. */
  readonly signal?: AbortSignal;
};

const MAX_ANSWER = 2_000;
/** Status codes after which a retry makes sense. */
const RETRIED: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Never rejects. `reason` doesn't contain the address, which may be secret. */
export async function post(url: string, { body, headers, timeoutMs, signal }: Post): Promise<PostOutcome> {
  try {
    const timeout = AbortSignal.timeout(timeoutMs);
    const limit = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    const response = await fetch(url, { method: "POST", body, headers, signal: limit });
    const answer = (await response.text()).slice(0, MAX_ANSWER);
    if (response.ok) return { kind: "done", body: answer };
    const reason = `it answered with ${response.status}${answer.trim() === "" ? "" : `: ${answer.trim().slice(0, 200)}`}`;
    if (!RETRIED.has(response.status)) return { kind: "refused", reason };
    const afterMs = retryAfter(response.headers.get("retry-after"));
    return { kind: "later", reason, ...(afterMs === undefined ? {} : { afterMs }) };
  } catch (error) {
    return { kind: "later", reason: reasonOf(error as PostFailure, timeoutMs) };
  }
}

/** Milliseconds, from a header with seconds or a date. */
export function retryAfter(header: string | null, now = Date.now()): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), 600_000);
}

type PostFailure = Omit<Error, "cause"> & { readonly cause?: NodeJS.ErrnoException };

function reasonOf({ name, message, cause }: PostFailure, timeoutMs: number): string {
  if (name === "TimeoutError") return `no answer within ${timeoutMs / 1_000} s`;
  return cause === undefined ? message : cause.message || cause.code || message;
}

const FIRST_MS = 1_000;
const MAX_DELAY_MS = 60_000;

export type RetryOptions = {
  readonly log: PluginLog;
  readonly signal: AbortSignal;
  /** The action, as in "Cannot post the message". */
  readonly what: string;
  /** What happens meanwhile, for the log. */
  readonly note: string;
  /** Gives up after this many tries. Default: never. */
  readonly maxTries?: number;
};

/** Repeats with growing delays until done. `stopped`: the signal was aborted. Logs the first failure, and the success after failures. */
export async function retry(
  attempt: () => Promise<PostOutcome>,
  options: RetryOptions,
): Promise<"done" | "refused" | "stopped"> {
  const { log, signal, what, note, maxTries = Number.POSITIVE_INFINITY } = options;
  for (let tries = 1; ; tries += 1) {
    const outcome = await attempt();
    if (outcome.kind === "done") {
      if (tries > 1) log.info(`${what}: it works again`);
      return "done";
    }
    if (signal.aborted) return "stopped";
    if (outcome.kind === "refused" || tries >= maxTries) {
      log.error(`Cannot ${what}: ${outcome.reason}; it is dropped`);
      return "refused";
    }
    if (tries === 1) log.warn(`Cannot ${what}: ${outcome.reason}; retrying, ${note}`);
    await pause(outcome.afterMs ?? delayAfter(tries), signal);
  }
}

function delayAfter(tries: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_MS * 2 ** (tries - 1)) * (0.75 + Math.random() / 2);
}

/** Ends early when the signal is aborted; one last attempt follows. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
