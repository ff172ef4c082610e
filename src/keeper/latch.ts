/** Something that is awaited once, and not for ever. */
export class Latch<T> {
  readonly #promise: Promise<T>;
  readonly open: (value: T) => void;
  readonly fail: (reason: string) => void;

  /** After `ms` it fails with `lateness`. */
  constructor(ms: number, lateness: string) {
    const { promise, resolve, reject } = withResolvers<T>();
    const late = setTimeout(() => reject(new Error(lateness)), ms);
    this.#promise = promise.finally(() => clearTimeout(late));
    this.open = resolve;
    this.fail = (reason) => reject(new Error(reason));
  }

  wait(): Promise<T> {
    return this.#promise;
  }
}

/** `Promise.withResolvers` comes with Node 22. */
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
