/** Answers that last: streams of events (SSE), and those that wait. Few enough that they harm nobody, and ended when their token counts no longer. */
import type { ServerResponse } from "node:http";
import type { ProblemRecord } from "../contract/records.ts";
import { beginStream, problemOf } from "./answer.ts";
import type { Grant } from "./authenticator.ts";
import { Refusal } from "./refusal.ts";

export type StreamLimits = {
  /** Of one consumer, and in all. */
  readonly streamsEach: number;
  readonly streams: number;
  /** A sign of life each so often. Milliseconds. */
  readonly heartbeatMs: number;
};

/** Who takes nothing for so many heartbeats is gone, or as good as gone. */
const PATIENCE_BEATS = 4;
/** What clients wait before they come again. Milliseconds. */
const RETRY_MS = 500;
/** The longest that a timer can wait. Milliseconds. */
const LONGEST_MS = 2_147_483_647;

type Lasting = { readonly grant: Grant; readonly aborter: AbortController; streams: boolean; stuckBeats: number };

export class Streams {
  readonly #limits: StreamLimits;
  readonly #refusal: (grant: Grant) => string | undefined;
  readonly #open = new Map<ServerResponse, Lasting>();
  #heart: NodeJS.Timeout | undefined;

  constructor(limits: StreamLimits, refusal: (grant: Grant) => string | undefined) {
    this.#limits = limits;
    this.#refusal = refusal;
  }

  get size(): number {
    return this.#open.size;
  }

  /** An answer that lasts; the signal says that nobody waits for it any more. @throws {Refusal} `too-many-requests`, `too-many-streams` */
  admit(response: ServerResponse, grant: Grant): AbortSignal {
    this.#checkLimits(grant.claims.consumer);
    const aborter = new AbortController();
    this.#open.set(response, { grant, aborter, streams: false, stuckBeats: 0 });
    const { expires = Infinity } = grant.claims;
    const expiry = setTimeout(() => this.recheck(), Math.min(LONGEST_MS, Math.max(0, expires * 1_000 - Date.now()) + 6_000)).unref();
    response.once("close", () => {
      clearTimeout(expiry);
      this.#open.delete(response);
      aborter.abort();
      if (this.#open.size > 0) return;
      clearInterval(this.#heart);
      this.#heart = undefined;
    });
    this.#heart ??= setInterval(() => this.#beat(), this.#limits.heartbeatMs).unref();
    return aborter.signal;
  }

  /** Writes what comes, as fast as the reader takes it: nothing is kept here for a slow one. */
  async write(response: ServerResponse, items: AsyncIterable<unknown>): Promise<void> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      let next = iterator.next();
      // What is refused at once is refused with a status of its own.
      await Promise.race([next, new Promise(setImmediate)]);
      beginStream(response);
      response.write(`retry: ${RETRY_MS}\n\n`);
      const lasting = this.#open.get(response);
      if (lasting !== undefined) lasting.streams = true;
      for (;;) {
        const { done, value } = await next;
        if (done || response.destroyed) break;
        if (!response.write(frameOf(value as Framed))) await drained(response);
        next = iterator.next();
      }
    } catch (error) {
      if (!response.headersSent) throw error;
      if (!response.destroyed) response.write(lastFrame(problemOf(error)));
    } finally {
      void iterator.return?.()?.catch(() => undefined);
    }
    response.end();
  }

  /** Ends those whose tokens count no longer. */
  recheck(): void {
    for (const [response, { grant }] of this.#open) if (this.#refusal(grant) !== undefined) response.destroy();
  }

  #checkLimits(consumer: string): void {
    const { streams, streamsEach } = this.#limits;
    const retry = { "retry-after": "5", connection: "close" };
    if (this.#open.size >= streams)
      throw new Refusal("too-many-streams", `Cannot open another stream: ${streams} are open; close some`, retry);
    const own = [...this.#open.values()].filter(({ grant }) => grant.claims.consumer === consumer).length;
    if (own >= streamsEach)
      throw new Refusal("too-many-requests", `Cannot open another stream for "${consumer}": it has ${own} open; close some`, retry);
  }

  #beat(): void {
    for (const [response, lasting] of this.#open) {
      if (!lasting.streams) continue;
      lasting.stuckBeats = response.writableNeedDrain ? lasting.stuckBeats + 1 : 0;
      if (lasting.stuckBeats > PATIENCE_BEATS) response.destroy();
      else if (lasting.stuckBeats === 0) response.write(":\n\n");
    }
  }
}

type Framed = { readonly type: string; readonly id?: string; readonly cursor?: string };

function frameOf(item: Framed): string {
  return `id: ${item.id ?? item.cursor}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`;
}

/** The reader is told why there is no more. */
function lastFrame(problem: ProblemRecord): string {
  return `event: problem\ndata: ${JSON.stringify(problem)}\n\n`;
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    if (response.destroyed) resolve();
    else response.on("drain", done).on("close", done);
  });
}
