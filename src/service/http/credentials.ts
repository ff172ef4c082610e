/** What tokens are held against: the secret, and who is revoked. Both may change while the service runs, without a word to it. */
import { dirname } from "node:path";
import { ProcmanError } from "../../base/errors.ts";
import { load } from "../../config/load.ts";
import type { Config } from "../../config/spec.ts";
import { stampOf } from "../../os/file-identity.ts";
import { keepSecret, newSecret, secretFile, secretIn } from "../../os/secret.ts";

export type CredentialEvents = {
  /** Tokens of before may be void. */
  readonly onChanged: () => void;
  /** Why the secret is known here alone for now; undefined: it is in its file at last. */
  readonly onUnsaved: (why: string | undefined) => void;
};

/** A revocation counts within two of these. Milliseconds. */
const POLL_MS = 1_000;
/** A file that was written so shortly before may have been read before that. Milliseconds. */
const RECENT_MS = 10_000;

export class Credentials {
  readonly #config: Config;
  readonly #events: CredentialEvents;
  #secret: Uint8Array | undefined;
  #revoked: ReadonlySet<string>;
  #secretStamp = "";
  #isUnsaved = false;
  #configStamp: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: Config, events: CredentialEvents) {
    this.#config = config;
    this.#events = events;
    this.#revoked = new Set(config.api.revoked);
    this.#configStamp = stampOf(config.file, RECENT_MS);
  }

  /** Needs the state folder, but no room in it: processes are started with their tokens all the same. Another array once it is another secret. */
  secret(): Uint8Array {
    this.#secret ??= this.#attempt(() => this.#read()) ?? newSecret();
    return this.#secret;
  }

  /** Whether clients can sign with it; what there was no room for is tried again. */
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

  /** Somebody has removed the state folder. */
  restoreFile(): void {
    const secret = this.#secret;
    if (secret !== undefined) this.#attempt(() => keepSecret(this.#config.stateDir, secret));
  }

  /** Whether anything is another now. */
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

  /** The stamp is that of before: what is replaced meanwhile, or can't be read now, is read again. */
  #read(): Uint8Array {
    const { stateDir } = this.#config;
    const stamp = stampOf(secretFile(stateDir));
    const secret = secretIn(stateDir);
    this.#secretStamp = stamp;
    return secret;
  }

  #checkSecret(): boolean {
    const stamp = stampOf(secretFile(this.#config.stateDir));
    if (this.#secret === undefined || stamp === "" || stamp === this.#secretStamp) return false;
    const found = this.#attempt(() => this.#read());
    if (found === undefined || Buffer.compare(found, this.#secret) === 0) return false;
    this.#secret = found;
    return true;
  }

  /** A file that is not valid, or not there just now, changes nothing. */
  #checkConfig(): boolean {
    const { file, profile } = this.#config;
    const stamp = stampOf(file);
    if (stamp === "" || stamp === this.#configStamp) return false;
    this.#configStamp = stamp;
    try {
      this.#revoked = new Set(load(file, dirname(file), profile).api.revoked);
      return true;
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      return false;
    }
  }
}
