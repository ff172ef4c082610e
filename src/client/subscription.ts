/** A stream of events that reconnects and continues after the last event. */
import { ProcmanError } from "../core/base/errors.ts";
import { EventParser } from "./sse-parser.ts";
import { chunksOf, errorOf, NoAnswerError, type Reply, type SendRequest } from "./transport.ts";

/** Delay between attempts, doubled up to the longest. Milliseconds. */
const FIRST_MS = 200;
const LONGEST_MS = 10_000;

/** Told when a stream is connected, and when its connection was lost and is tried again after `pauseMs`. */
export type StreamObserver = { readonly opened?: () => void; readonly lost?: (pauseMs: number) => void };

type SubscriptionOptions = {
  readonly send: SendRequest;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly observer?: StreamObserver | undefined;
};

/** Ends when the signal is aborted. Throws any error of the first attempt, and later only errors that a retry can't resolve. */
export async function* subscribe({
  send,
  path,
  signal,
  observer,
}: SubscriptionOptions): AsyncGenerator<unknown, void, undefined> {
  const parser = new EventParser();
  let isFirst = true;
  let pauseMs = FIRST_MS;
  while (!signal.aborted) {
    try {
      const reply = await open({ send, path, signal }, parser.lastEventId);
      isFirst = false;
      observer?.opened?.();
      for await (const item of itemsOf(reply, parser)) {
        pauseMs = FIRST_MS;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !isPassing(error)) throw error;
    }
    if (signal.aborted) return;
    parser.reset();
    const waitMs = Math.min(LONGEST_MS, Math.max(pauseMs, parser.retryMs ?? 0));
    observer?.lost?.(waitMs);
    await pause(waitMs, signal);
    pauseMs = Math.min(LONGEST_MS, pauseMs * 2);
  }
}

async function open({ send, path, signal }: SubscriptionOptions, lastEventId: string): Promise<Reply> {
  const headers = { accept: "text/event-stream", ...(lastEventId === "" ? {} : { "last-event-id": lastEventId }) };
  const reply = await send({ method: "GET", path, headers, signal });
  if (reply.status === 200) return reply;
  throw errorOf(reply.status, await reply.text());
}

/** The items of a stream, until it ends. @throws {ProcmanError} the problem that ended it */
export async function* itemsOf({ body }: Reply, parser: EventParser): AsyncGenerator<unknown, void, undefined> {
  for await (const chunk of chunksOf(body))
    for (const { type, data } of parser.read(chunk)) {
      if (type === "problem") throw errorOf(0, data);
      yield JSON.parse(data) as unknown;
    }
}

/** No answer, too many requests, or this client was too slow: it continues after the last event. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ProcmanError) || error instanceof NoAnswerError) return true;
  return ["too-many-requests", "too-many-streams", "events-lost"].includes(error.code);
}

/** Ends early when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}
