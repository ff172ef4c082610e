/** Checks tokens against the secret and the revoked consumers. Both files may change at any time; they are polled. */
import { dirname } from "node:path";
import { ProcmanError } from "../../base/errors.ts";
import { load } from "../../config/load.ts";
import type { Config } from "../../config/spec.ts";
import { stampOf } from "../../os/file-identity.ts";
import { keepSecret, newSecret, secretFile, secretIn, storedSecret } from "../../os/secret.ts";

export type CredentialEvents = {
  /** Earlier tokens may be void. */
  readonly onChanged: () => void;
  /** Why the secret can't be written to its file; undefined: it is written now. */
  readonly onUnsaved: (why: string | undefined) => void;
};

/** Interval of checks. A revocation is in force within two of them. Milliseconds. */
const POLL_MS = 1_000;
/** A file written this recently may have been read before the write. Milliseconds. */
const RECENT_MS = 10_000;

export class Credentials {
  readonly #config: Config;
  readonly #profile: () => string | undefined;
  readonly #events: CredentialEvents;
  #secret: Uint8Array | undefined;
  #revoked: ReadonlySet<string>;
  #secretStamp = "";
  #isUnsaved = false;
  #configStamp: string;
  /** The profile that the revoked consumers are those of. */
  #revokedBy: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `profile`: the active one. */
  constructor(config: Config, profile: () => string | undefined, events: CredentialEvents) {
    this.#config = config;
    this.#profile = profile;
    this.#events = events;
    this.#revoked = new Set(config.api.revoked);
    this.#configStamp = stampOf(config.file, RECENT_MS);
    this.#revokedBy = config.profile;
  }

  /** Works without room in the state folder, so that processes still get tokens. A changed secret is another array. */
  secret(): Uint8Array {
    this.#secret ??= this.#attempt(() => this.#read()) ?? newSecret();
    return this.#secret;
  }

  /** Whether the secret is in its file, where clients need it. Tries again if it was not. */
  save(): boolean {
    if (this.#isUnsaved) this.restoreFile();
    return !this.#isUnsaved;
  }

  isRevoked(consumer: string): boolean {
    return this.#revoked.has(consumer);
  }

  watch(): void {
    this.#timer ??= setInterval(() => this.check(), POLL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Writes the secret to its file again. */
  restoreFile(): void {
    const secret = this.#secret;
    if (secret !== undefined) this.#attempt(() => keepSecret(this.#config.stateDir, secret));
  }

  /** Checks both files for changes. */
  check(): void {
    this.save();
    const secret = this.#checkSecret();
    const revoked = this.#checkConfig();
    if (secret || revoked) this.#events.onChanged();
  }

  #attempt<T>(call: () => T): T | undefined {
    try {
      const result = call();
      if (this.#isUnsaved) this.#events.onUnsaved(undefined);
      this.#isUnsaved = false;
      return result;
    } catch (error) {
      if (!this.#isUnsaved) this.#events.onUnsaved((error as Error).message);
      this.#isUnsaved = true;
      return undefined;
    }
  }

  /** The stamp is taken first, so a file that is replaced meanwhile is read again. */
  #read(): Uint8Array {
    const { stateDir } = this.#config;
    const stamp = stampOf(secretFile(stateDir));
    const secret = secretIn(stateDir);
    this.#secretStamp = stamp;
    return secret;
  }

  #checkSecret(): boolean {
    const { stateDir } = this.#config;
    const stamp = stampOf(secretFile(stateDir));
    const secret = this.#secret;
    if (secret === undefined || (stamp !== "" && stamp === this.#secretStamp)) return false;
    // A lost one is written again.
    const found = this.#attempt(() => storedSecret(stateDir) ?? keepSecret(stateDir, secret));
    if (found === undefined) return false;
    this.#secretStamp = stamp;
    if (Buffer.compare(found, secret) === 0) return false;
    this.#secret = found;
    return true;
  }

  /** An invalid or missing file changes nothing. */
  #checkConfig(): boolean {
    const { file } = this.#config;
    const stamp = stampOf(file);
    const profile = this.#profile();
    if (stamp === "" || (stamp === this.#configStamp && profile === this.#revokedBy)) return false;
    this.#configStamp = stamp;
    this.#revokedBy = profile;
    try {
      this.#revoked = new Set(load(file, dirname(file), profile).api.revoked);
      return true;
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      return false;
    }
  }
}
