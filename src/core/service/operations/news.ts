/** Requests that wait until there is something new. */
import type { ActOptions } from "../../contract/control.ts";

export class News {
  readonly #waiting = new Set<() => void>();

  tell(): void {
    for (const call of [...this.#waiting]) call();
  }

  /** Resolves when something is told, after `waitSeconds`, or when the signal is aborted. */
  async next({ waitSeconds = 0, signal }: Pick<ActOptions, "waitSeconds" | "signal">): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, waitSeconds * 1_000);
      this.#waiting.add(done);
      signal?.addEventListener("abort", done, { once: true });
    });
  }
}
