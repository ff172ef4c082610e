/** Fills the window: with the end of the log, which is followed, or with the lines around a time; and with more at either end on demand. */
import type { Client } from "../../../client/client.ts";
import { logEvent } from "../../../core/contract/log-event.ts";
import type { LogItem, LogQuery } from "../../../core/contract/records.ts";
import {
  appended,
  EMPTY_WINDOW,
  type LogWindow,
  newerCursor,
  olderCursor,
  prepended,
  WINDOW_LINES,
} from "./log-window.ts";
import { Observable } from "./observable.ts";

/** Lines of a page, and of the end of the log that is shown first. */
const PAGE = 500;
/** Before a failed request is repeated. Milliseconds. */
const RETRY_MS = 2_000;
/** How often lines are shown while the page is hidden, and no frame is drawn. Milliseconds. */
const HIDDEN_MS = 500;

export type ShownFilter = Pick<LogQuery, "processes" | "severity" | "search" | "categories">;

export type PagerState = {
  readonly isLoading: boolean;
  /** New lines come by themselves. */
  readonly isFollowing: boolean;
  readonly problem?: string;
};

/** `start`: cursor before the first line. `isExpected`: there are lines, which only have to come. */
type FollowedLines = { readonly start?: string | undefined; readonly isExpected?: boolean };

export class LogPager {
  readonly window = new Observable<LogWindow>(EMPTY_WINDOW);
  readonly state = new Observable<PagerState>({ isLoading: true, isFollowing: false });
  /** Whether the last line is in view: if not, the window doesn't lose the lines that are. */
  readonly pinned = new Observable(true);
  readonly #client: Pick<Client, "logs" | "follow">;
  readonly #filter: ShownFilter;
  #end = new AbortController();
  #waiting: LogItem[] = [];
  #isScheduled = false;
  #isBusy = false;

  constructor(client: Pick<Client, "logs" | "follow">, filter: ShownFilter) {
    this.#client = client;
    this.#filter = filter;
  }

  /** The end of the log, and what comes. */
  async openEnd(): Promise<void> {
    const signal = this.#restart();
    this.pinned.set(true);
    await this.#attempt(signal, async () => {
      // Only for its cursor: the stream repeats these lines, with cursors, and continues.
      const { entries, next } = await this.#client.logs({ ...this.#filter, limit: PAGE });
      const from = next === undefined ? { from: 0 } : { cursor: next };
      if (!signal.aborted) this.#follow(from, signal, { start: next, isExpected: entries.length > 0 });
    });
  }

  /** The lines from this time on, in milliseconds since 1970, and what was before. */
  async openAt(time: number): Promise<void> {
    const signal = this.#restart();
    this.pinned.set(false);
    await this.#attempt(signal, async () => {
      const [after, before] = await Promise.all([
        this.#client.logs({ ...this.#filter, from: time, limit: PAGE, order: "asc" }),
        this.#client.logs({ ...this.#filter, to: time, limit: PAGE }),
      ]);
      if (signal.aborted) return;
      this.window.set(prepended(EMPTY_WINDOW, { entries: before.entries.toReversed(), start: before.next }));
      if (after.next === undefined) return this.#follow({ from: time }, signal);
      this.window.set(appended(this.window.value, { entries: after.entries, end: after.next }).window);
      this.state.set({ isLoading: false, isFollowing: false });
    });
  }

  stop(): void {
    this.#end.abort();
  }

  /** Gives up its stream, if it has one, until `wake`. */
  rest(): void {
    if (this.state.value.isFollowing) this.#pause();
  }

  /** Follows again, if the end was in view. */
  wake(): void {
    if (this.pinned.value && !this.state.value.isFollowing) void this.openEnd();
  }

  /** Loads lines before the first one. */
  async older(): Promise<void> {
    const { window } = this;
    const cursor = olderCursor(window.value);
    if (cursor === undefined || !window.value.hasOlder || this.#isBusy) return;
    await this.#page(async () => {
      const { entries, next } = await this.#client.logs({ ...this.#filter, cursor, limit: PAGE });
      return () => {
        const last = newerCursor(window.value);
        window.set(prepended(window.value, { entries: entries.toReversed(), start: next }));
        // The newest lines had to go: they are read again when they come into view.
        if (newerCursor(window.value) !== last) this.#pause();
      };
    });
  }

  /** Loads lines after the last one; at the end of the log it follows. */
  async newer(): Promise<void> {
    const { window } = this;
    const cursor = newerCursor(window.value);
    if (cursor === undefined || this.state.value.isFollowing || this.#isBusy) return;
    await this.#page(async () => {
      const { entries, next } = await this.#client.logs({ ...this.#filter, cursor, limit: PAGE, order: "asc" });
      return () => {
        if (next === undefined) this.#follow({ cursor }, this.#end.signal);
        else window.set(appended(window.value, { entries, end: next }).window);
      };
    });
  }

  #restart(): AbortSignal {
    this.#end.abort();
    this.#end = new AbortController();
    this.#waiting = [];
    this.#isBusy = false;
    this.window.set(EMPTY_WINDOW);
    this.state.set({ isLoading: true, isFollowing: false });
    return this.#end.signal;
  }

  async #attempt(signal: AbortSignal, load: () => Promise<void>): Promise<void> {
    for (;;)
      try {
        return await load();
      } catch (error) {
        if (signal.aborted) return;
        this.state.set({ isLoading: false, isFollowing: false, problem: (error as Error).message });
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        if (signal.aborted) return;
      }
  }

  /** A page at either end. It is dropped if another part of the log was opened meanwhile. */
  async #page(load: () => Promise<() => void>): Promise<void> {
    const { signal } = this.#end;
    this.#isBusy = true;
    try {
      const add = await load();
      if (!signal.aborted) add();
    } catch (error) {
      if (!signal.aborted) this.state.set({ ...this.state.value, problem: (error as Error).message });
    } finally {
      if (!signal.aborted) this.#isBusy = false;
    }
  }

  #follow(
    from: Pick<LogQuery, "cursor" | "from">,
    signal: AbortSignal,
    { start, isExpected = false }: FollowedLines = {},
  ): void {
    if (start !== undefined) this.window.set({ ...this.window.value, hasOlder: true });
    void this.#attempt(signal, async () => {
      this.state.set({ isLoading: isExpected && this.window.value.size === 0, isFollowing: true });
      const cursor = newerCursor(this.window.value);
      for await (const item of this.#client.follow(
        { ...this.#filter, ...(cursor === undefined ? from : { cursor }) },
        signal,
      )) {
        this.#waiting.push(item);
        this.#schedule(signal, start ?? from.cursor);
      }
    });
  }

  /** At most once a frame. */
  #schedule(signal: AbortSignal, start: string | undefined): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    const take = (): void => {
      this.#isScheduled = false;
      if (!signal.aborted) this.#take(start);
    };
    if (document.hidden) setTimeout(take, HIDDEN_MS);
    else requestAnimationFrame(take);
  }

  #take(start: string | undefined): void {
    const items = this.#waiting;
    this.#waiting = [];
    const entries = items.map((item) => logEvent(item, item.cursor).entry);
    const { window } = appended(
      this.window.value,
      { entries, start, end: items.at(-1)?.cursor },
      this.pinned.value ? WINDOW_LINES : Infinity,
    );
    if (this.state.value.isLoading) this.state.set({ isLoading: false, isFollowing: true });
    this.window.set(window);
    if (!this.pinned.value && window.size >= WINDOW_LINES) this.#pause();
  }

  /** No more lines come by themselves. */
  #pause(): void {
    this.#end.abort();
    this.#end = new AbortController();
    this.#isBusy = false;
    this.state.set({ isLoading: false, isFollowing: false });
  }
}
