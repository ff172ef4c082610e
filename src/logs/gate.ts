/** Says whether a place takes more output at the moment; who writes there watches it and pauses. */
export class Gate {
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

  /** Returns what ends the watch. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }
}
