/** The certificate of the API's port: read again when its files have changed, so that a renewed one needs no restart. */
import { statSync } from "node:fs";
import { expiryOf, readTlsFiles, type TlsFiles } from "../../os/tls-files.ts";
import type { Log } from "../services.ts";

/** The files are looked at before a connection's handshake, at most this often. Milliseconds. */
const LOOK_MS = 1_000;

/** Takes a new certificate (a `tls.Server`). */
type TlsServer = { readonly setSecureContext: (options: { readonly cert: Buffer; readonly key: Buffer }) => void };

export class TlsCertificate {
  readonly #files: TlsFiles;
  readonly #log: Pick<Log, "info" | "error">;
  readonly #now: () => number;
  #stamp = "";
  #looked = Number.NEGATIVE_INFINITY;

  /** `now`: monotonic milliseconds. */
  constructor(files: TlsFiles, log: Pick<Log, "info" | "error">, now: () => number) {
    this.#files = files;
    this.#log = log;
    this.#now = now;
  }

  /** @throws {Error} the files can't be used */
  check(): void {
    readTlsFiles(this.#files);
  }

  /** Gives the server the certificate that is in the files now. While they can't be used, the last one stays. */
  refresh(server: TlsServer): void {
    const now = this.#now();
    if (now - this.#looked < LOOK_MS) return;
    this.#looked = now;
    const before = this.#stamp;
    const stamp = this.#stampNow();
    if (stamp === before) return;
    this.#stamp = stamp;
    try {
      const identity = readTlsFiles(this.#files);
      server.setSecureContext(identity);
      if (before !== "") this.#log.info("the API uses the changed certificate now");
      const expired = expiryOf(identity);
      if (expired !== undefined) this.#log.error(`clients can't use the API's port: ${expired}`);
    } catch (error) {
      const kept = before === "" ? "" : "; the one before stays in use";
      this.#log.error(`the certificate of the API can't be used: ${(error as Error).message}${kept}`);
    }
  }

  /** Changes with the content of a file, and with its place behind a link. */
  #stampNow(): string {
    return [this.#files.certificate, this.#files.key].map(stampOf).join();
  }
}

function stampOf(file: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [dev, ino, size, mtimeMs, ctimeMs].join(" ");
  } catch {
    // `readTlsFiles` says why.
    return "unreadable";
  }
}
