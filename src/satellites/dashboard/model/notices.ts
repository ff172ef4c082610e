/** Short messages about what was asked for: they go by themselves, unless something was refused. */
import { Observable } from "./observable.ts";

/** Milliseconds. */
const SHOWN_MS = 6_000;
const LIMIT = 4;

export type ShownNotice = { readonly key: number; readonly text: string; readonly isBad: boolean };

export class Notices {
  readonly list = new Observable<readonly ShownNotice[]>([]);
  #lastKey = 0;

  say(text: string): void {
    const key = this.#add(text, false);
    setTimeout(() => this.close(key), SHOWN_MS);
  }

  /** Shows a refusal, which stays until it is closed. */
  refuse(text: string): void {
    this.#add(text, true);
  }

  close(key: number): void {
    this.list.set(this.list.value.filter((notice) => notice.key !== key));
  }

  #add(text: string, isBad: boolean): number {
    this.#lastKey += 1;
    this.list.set([...this.list.value, { key: this.#lastKey, text, isBad }].slice(-LIMIT));
    return this.#lastKey;
  }
}
