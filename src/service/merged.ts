/** Several streams as one, each item as it comes; at most one of each waits, so that a quick one holds up no other. */

type Source<T> = (signal: AbortSignal) => AsyncIterable<T>;

type Arrival<T> = { readonly iterator: AsyncIterator<T> } & ({ readonly result: IteratorResult<T> } | { readonly error: unknown });

/** Ends with the first that ends, and ends the others then; so it does when its reader has had enough. */
export async function* merged<T>(sources: readonly Source<T>[], signal: AbortSignal): AsyncGenerator<T, void, undefined> {
  const stop = new AbortController();
  const iterators = sources.map((source) => source(AbortSignal.any([signal, stop.signal]))[Symbol.asyncIterator]());
  const arrived: Arrival<T>[] = [];
  let wake = (): void => undefined;
  // No Promise.race: it would keep a reaction for each item of a quick stream at the promise of one in which nothing happens.
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
        // Asked before the reader is: it is there when the reader comes again.
        ask(arrival.iterator);
        yield arrival.result.value;
      }
    }
  } finally {
    stop.abort();
    // What one of them meets at its end concerns nobody any more.
    for (const iterator of iterators) void iterator.return?.().catch(() => undefined);
  }
}
