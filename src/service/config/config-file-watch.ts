/** `--watch-config`: checks four times a second whether the configuration file has changed. For development. */
import { stampOf } from "../../os/file-identity.ts";

const POLL_MS = 250;

export class ConfigFileWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  #stamp: string;
  /** A changed stamp from the last check. The change is reported when the next check finds the same: the file is no longer being written. */
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

  /** A missing file is ignored: an editor may be replacing it. */
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
