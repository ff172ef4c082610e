/** `--watch-config`: tells when the configuration file is another one. For development: a look four times a second. */
import { stampOf } from "../../os/file-identity.ts";

const POLL_MS = 250;

export class ConfigFileWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  #stamp: string;
  /** As it was at the last look, where that was another than the one before: it may still be being written. */
  #unsettledStamp: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string, changed: () => void) {
    this.#file = file;
    this.#onChange = changed;
    this.#stamp = stampOf(file);
  }

  start(): void {
    this.#timer ??= setInterval(() => this.check(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A file that is gone for a moment is about to be written anew. */
  check(): void {
    const stamp = stampOf(this.#file);
    if (stamp === "" || stamp === this.#stamp) {
      this.#unsettledStamp = undefined;
      return;
    }
    const isWritten = stamp === this.#unsettledStamp;
    this.#unsettledStamp = stamp;
    if (!isWritten) return;
    this.#stamp = stamp;
    this.#onChange();
  }
}
