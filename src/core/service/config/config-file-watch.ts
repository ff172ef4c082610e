/** `--watch-config`: checks four times a second whether the configuration has changed: its file, or one that it includes. For development. */
import { dirname } from "node:path";
import { readConfigBytes } from "../../config/config-file.ts";
import { parseDocument, withoutBom } from "../../config/document.ts";
import { includesOf } from "../../config/include.ts";
import { includedPaths } from "../../config/include-patterns.ts";
import { stampOf } from "../../os/file-identity.ts";

const POLL_MS = 250;

export class ConfigFileWatch {
  readonly #file: string;
  readonly #onChange: () => void;
  /** `include` of the file, as last read, and the stamp of that file. */
  #patterns: readonly string[] = [];
  #patternsOf: string | undefined;
  #stamp: string;
  /** A changed stamp from the last check. The change is reported when the next check finds the same: no file is being written any more. */
  #unsettledStamp: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(file: string, changed: () => void) {
    this.#file = file;
    this.#onChange = changed;
    this.#stamp = this.current;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.check(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** A missing file is ignored: an editor may be replacing it. */
  check(): void {
    const stamp = this.current;
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

  /** Stamp of the file and all that it includes, with their names; empty while the file is missing. */
  get current(): string {
    const stamp = stampOf(this.#file);
    if (stamp === "") return "";
    if (stamp !== this.#patternsOf) {
      this.#patterns = this.#patternsNow();
      this.#patternsOf = stamp;
    }
    const included = includedPaths(this.#patterns, dirname(this.#file), this.#file);
    return [stamp, ...included.map(({ file }) => `${file} ${stampOf(file)}`)].join("\n");
  }

  #patternsNow(): readonly string[] {
    try {
      return includesOf(
        parseDocument(withoutBom(readConfigBytes(this.#file, { waitsForPipe: false }).toString("utf8"))).data,
      );
    } catch {
      // It was removed meanwhile, which the next check finds, or is not a regular file, which the reload reports.
      return this.#patterns;
    }
  }
}
