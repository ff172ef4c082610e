/** A stream of events that outlives its connections: it comes again and goes on after the last event. */
import { ProcmanError } from "../base/errors.ts";
import { errorOf } from "./problem.ts";
import { chunksOf, type Reply, type Send } from "./send.ts";
import { EventParser } from "./server-sent-events.ts";

/** Between attempts: doubles up to the longest. Milliseconds. */
const FIRST_MS = 200;
const LONGEST_MS = 10_000;

type Wanted = { readonly send: Send; readonly path: string; readonly signal: AbortSignal };

/** Ends when the signal is aborted. Throws what the first attempt met, and later whatever trying again can't mend. */
export async function* subscribe({ send, path, signal }: Wanted): AsyncGenerator<unknown, void, undefined> {
  const parser = new EventParser();
  let isFirst = true;
  let pauseMs = FIRST_MS;
  while (!signal.aborted) {
    try {
      const reply = await open({ send, path, signal }, parser.lastEventId);
      isFirst = false;
      for await (const item of itemsOf(reply, parser)) {
        pauseMs = FIRST_MS;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (isFirst || !isPassing(error)) throw error;
    }
    parser.reset();
    await pause(Math.min(LONGEST_MS, Math.max(pauseMs, parser.retryMs ?? 0)), signal);
    pauseMs = Math.min(LONGEST_MS, pauseMs * 2);
  }
}

async function open({ send, path, signal }: Wanted, lastEventId: string): Promise<Reply> {
  const headers = { accept: "text/event-stream", ...(lastEventId === "" ? {} : { "last-event-id": lastEventId }) };
  const reply = await send({ method: "GET", path, headers, signal });
  if (reply.status === 200) return reply;
  throw errorOf(reply.status, await reply.text());
}

async function* itemsOf({ body }: Reply, parser: EventParser): AsyncGenerator<unknown, void, undefined> {
  for await (const chunk of chunksOf(body))
    for (const { type, data } of parser.read(chunk)) {
      if (type === "problem") throw errorOf(0, data);
      yield JSON.parse(data) as unknown;
    }
}

/** Nobody answered, too many asked, or this one was too slow for a moment: it goes on after the last that came. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ProcmanError) || ["too-many-requests", "too-many-streams", "events-lost"].includes(error.code);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
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
