/** A promise that is resolved from outside, or rejected after a timeout. */
export class Deferred<T> {
  readonly #promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: string) => void;

  /** Rejects with the message `timeoutMessage` after `ms`. */
  constructor(ms: number, timeoutMessage: string) {
    const { promise, resolve, reject } = withResolvers<T>();
    const late = setTimeout(() => reject(new Error(timeoutMessage)), ms);
    this.#promise = promise.finally(() => clearTimeout(late));
    this.resolve = resolve;
    this.reject = (reason) => reject(new Error(reason));
  }

  promise(): Promise<T> {
    return this.#promise;
  }
}

/** Like `Promise.withResolvers` of Node 22. */
function withResolvers<T>(): {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
} {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

type AsyncSource<T> = (signal: AbortSignal) => AsyncIterable<T>;

type Arrival<T> = { readonly iterator: AsyncIterator<T> } & (
  | { readonly result: IteratorResult<T> }
  | { readonly error: unknown }
);

/**
 * Merges streams, with items in the order in which they arrive. At most one item of each stream is buffered, so a fast
 * one doesn't starve the others. Ends when the first stream ends or the consumer stops, and then ends all streams.
 */
export async function* mergeStreams<T>(
  sources: readonly AsyncSource<T>[],
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  const stop = new AbortController();
  const iterators = sources.map((source) => source(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]());
  const arrived: Arrival<T>[] = [];
  let wake = (): void => undefined;
  // No Promise.race: each item of a fast stream would leave a reaction on the pending promise of an idle one.
  const ask = (iterator: AsyncIterator<T>): void => {
    const arrive = (arrival: Arrival<T>): void => {
      arrived.push(arrival);
      wake();
    };
    iterator.next().then(
      (result) => arrive({ iterator, result }),
      (error: unknown) => arrive({ iterator, error }),
    );
  };
  try {
    for (const iterator of iterators) ask(iterator);
    for (;;) {
      const arrival = arrived.shift();
      if (arrival === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      else if ("error" in arrival) throw arrival.error;
      else if (arrival.result.done === true) return;
      else {
        // Requested before the yield, so that the next item is ready when the consumer returns.
        ask(arrival.iterator);
        yield arrival.result.value;
      }
    }
  } finally {
    stop.abort();
    // Errors that a stream meets while it is closed are irrelevant.
    for (const iterator of iterators) void iterator.return?.().catch(() => undefined);
  }
}
