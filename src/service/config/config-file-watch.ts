/** `--watch-config`: tells when the configuration file is another one. For development: a look four times a second. */
import { stampOf } from "../../os/file-identity.ts";

const LOOK_MS = 250;

export class ConfigFileWatch {
  readonly #file: string;
  readonly #changed: () => void;
  #stamp: string;
  /** As it was at the last look, where that was another than the one before: it may still be being written. */
  #fresh: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string, changed: () => void) {
    this.#file = file;
    this.#changed = changed;
    this.#stamp = stampOf(file);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A file that is gone for a moment is about to be written anew. */
  look(): void {
    const stamp = stampOf(this.#file);
    if (stamp === "" || stamp === this.#stamp) {
      this.#fresh = undefined;
      return;
    }
    const isWritten = stamp === this.#fresh;
    this.#fresh = stamp;
    if (!isWritten) return;
    this.#stamp = stamp;
    this.#changed();
  }
}
