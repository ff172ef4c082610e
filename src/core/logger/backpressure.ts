/** Whether a destination can take more output at the moment; writers watch it and pause while it is closed. */
export class Backpressure {
  #closed = false;
  readonly #watchers = new Set<() => void>();

  get closed(): boolean {
    return this.#closed;
  }

  set(closed: boolean): void {
    if (closed === this.#closed) return;
    this.#closed = closed;
    for (const changed of [...this.#watchers]) changed();
  }

  /** The returned function ends the watch. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }
}
