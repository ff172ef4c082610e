/** Long answers: event streams (SSE) and requests that wait. They are limited in number, and end when their token becomes invalid. */
import type { ServerResponse } from "node:http";
import type { ProblemRecord } from "../contract/records.ts";
import type { TokenGrant } from "./grant-cache.ts";
import { beginStream, HttpError, problemOf } from "./responses.ts";

export type StreamLimits = {
  /** Limits for one consumer, and in total. */
  readonly streamsEach: number;
  readonly streams: number;
  /** Interval of heartbeats. Milliseconds. */
  readonly heartbeatMs: number;
};

/** Heartbeats without reading, after which a connection is closed. */
const MAX_STUCK_BEATS = 4;
/** Delay before clients reconnect. Milliseconds. */
const RETRY_MS = 500;
/** Longest delay of a timer. Milliseconds. */
const LONGEST_MS = 2_147_483_647;

type OpenStream = {
  readonly grant: TokenGrant;
  readonly aborter: AbortController;
  streams: boolean;
  /** Its client may stop reading for as long as it likes, as what is sent waits for it. */
  mayPause: boolean;
  stuckBeats: number;
};

export class Streams {
  readonly #limits: StreamLimits;
  readonly #refusal: (grant: TokenGrant) => string | undefined;
  readonly #open = new Map<ServerResponse, OpenStream>();
  #heart: NodeJS.Timeout | undefined;

  constructor(limits: StreamLimits, refusal: (grant: TokenGrant) => string | undefined) {
    this.#limits = limits;
    this.#refusal = refusal;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Registers a long answer; the signal is aborted when the client disconnects. @throws {HttpError} `too-many-requests`, `too-many-streams` */
  admit(response: ServerResponse, grant: TokenGrant): AbortSignal {
    this.#checkLimits(grant.claims.consumer);
    const aborter = new AbortController();
    this.#open.set(response, { grant, aborter, streams: false, mayPause: false, stuckBeats: 0 });
    const { expires = Infinity } = grant.claims;
    const expiry = setTimeout(
      () => this.recheck(),
      Math.min(LONGEST_MS, Math.max(0, expires * 1_000 - Date.now()) + 6_000),
    ).unref();
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

  /** Writes items as fast as the client reads; nothing is buffered for a slow one, which is disconnected unless it `mayPause`. */
  async write(response: ServerResponse, items: AsyncIterable<unknown>, mayPause = false): Promise<void> {
    const iterator = items[Symbol.asyncIterator]();
    try {
      let next = iterator.next();
      // An immediate refusal gets its own status.
      await Promise.race([next, new Promise(setImmediate)]);
      beginStream(response);
      response.write(`retry: ${RETRY_MS}\n\n`);
      const lasting = this.#open.get(response);
      if (lasting !== undefined) Object.assign(lasting, { streams: true, mayPause });
      for (;;) {
        const { done, value } = await next;
        if (done || response.destroyed) break;
        if (!response.write(frameOf(value as FramedEvent))) await drained(response);
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

  /** Ends streams whose tokens are no longer valid. */
  recheck(): void {
    for (const [response, { grant }] of this.#open) if (this.#refusal(grant) !== undefined) response.destroy();
  }

  /** Ends all. */
  close(): void {
    for (const response of this.#open.keys()) response.destroy();
  }

  #checkLimits(consumer: string): void {
    const { streams, streamsEach } = this.#limits;
    const retry = { "retry-after": "5", connection: "close" };
    if (this.#open.size >= streams)
      throw new HttpError("too-many-streams", `Cannot open another stream: ${streams} are open; close some`, retry);
    const own = [...this.#open.values()].filter(({ grant }) => grant.claims.consumer === consumer).length;
    if (own >= streamsEach)
      throw new HttpError(
        "too-many-requests",
        `Cannot open another stream for "${consumer}": it has ${own} open; close some`,
        retry,
      );
  }

  #beat(): void {
    for (const [response, lasting] of this.#open) {
      if (!lasting.streams) continue;
      lasting.stuckBeats = response.writableNeedDrain ? lasting.stuckBeats + 1 : 0;
      if (lasting.stuckBeats > MAX_STUCK_BEATS && !lasting.mayPause) response.destroy();
      else if (lasting.stuckBeats === 0) response.write(":\n\n");
    }
  }
}

type FramedEvent = { readonly type: string; readonly id?: string; readonly cursor?: string };

/** A stream whose items have neither can't be continued. */
function frameOf(item: FramedEvent): string {
  const id = item.id ?? item.cursor;
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`;
}

/** Tells the client why the stream ends. */
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
