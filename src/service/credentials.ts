/** What tokens are held against: the secret, and who is revoked. Both may change while the service runs, without a word to it. */
import { dirname } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { load } from "../config/load.ts";
import type { Config } from "../config/spec.ts";
import { keepSecret, secretFile, secretIn } from "../os/secret.ts";
import { stampOf } from "./stamp.ts";

/** A revocation counts within two of these. Milliseconds. */
const LOOK_MS = 1_000;
/** A file that was written so shortly before may have been read before that. Milliseconds. */
const FRESH_MS = 10_000;

export class Credentials {
  readonly #config: Config;
  readonly #changed: () => void;
  #secret: Uint8Array | undefined;
  #revoked: ReadonlySet<string>;
  #secretStamp = "";
  #configStamp: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: Config, changed: () => void) {
    this.#config = config;
    this.#changed = changed;
    this.#revoked = new Set(config.api.revoked);
    this.#configStamp = stampOf(config.file, FRESH_MS);
  }

  /** Needs the state folder. Another array once it is another secret. */
  secret(): Uint8Array {
    if (this.#secret === undefined) {
      const { stateDir } = this.#config;
      this.#secret = secretIn(stateDir);
      this.#secretStamp = stampOf(secretFile(stateDir));
    }
    return this.#secret;
  }

  isRevoked(consumer: string): boolean {
    return this.#revoked.has(consumer);
  }

  watch(): void {
    this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Somebody has removed the state folder. */
  renew(): void {
    if (this.#secret !== undefined) keepSecret(this.#config.stateDir, this.#secret);
  }

  /** Whether anything is another now. */
  look(): void {
    const secret = this.#lookAtSecret();
    const revoked = this.#lookAtConfig();
    if (secret || revoked) this.#changed();
  }

  #lookAtSecret(): boolean {
    const { stateDir } = this.#config;
    const stamp = stampOf(secretFile(stateDir));
    if (this.#secret === undefined || stamp === "" || stamp === this.#secretStamp) return false;
    this.#secretStamp = stamp;
    const found = secretIn(stateDir);
    if (Buffer.compare(found, this.#secret) === 0) return false;
    this.#secret = found;
    return true;
  }

  /** A file that is not valid, or not there just now, changes nothing. */
  #lookAtConfig(): boolean {
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
