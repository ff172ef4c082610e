/** Refuses what a page of another site asks for, also one that made its name point here (DNS rebinding). */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { ProcmanError } from "../base/errors.ts";

/** As many names as are remembered. */
const KNOWN_LIMIT = 100;

export class OriginCheck {
  readonly #hostname: string;
  /** Listening for others, it can't know the names that it is reached by. */
  readonly #anyName: boolean;
  readonly #known = new Map<string, boolean>();
  readonly #allowed: ReadonlySet<string>;

  /**
   * @param hostname what the API listens on
   * @param allowed origins whose pages may ask
   */
  constructor(hostname: string, allowed: readonly string[] = []) {
    this.#allowed = new Set(allowed);
    this.#hostname = hostname.toLowerCase();
    this.#anyName = !(this.#hostname === "localhost" || this.#hostname === "::1" || this.#hostname.startsWith("127."));
  }

  /**
   * The origin that a browser must be told may read the answer; undefined: nobody has to be told.
   *
   * @throws {ProcmanError} `origin-refused`
   */
  check({ host, origin }: IncomingHttpHeaders): string | undefined {
    if (host !== undefined && !this.#isOwn(host))
      throw refused(
        `Cannot answer for the host ${JSON.stringify(host.slice(0, 100))}: use localhost, an IP address, or the name in "api.hostname"`,
      );
    if (origin !== undefined && this.#allowed.has(origin)) return origin;
    // Of the same host, as its pages will be; no other page has business here.
    if (origin !== undefined && hostOf(origin) !== host?.toLowerCase())
      throw refused(
        `Cannot answer a page of ${JSON.stringify(origin.slice(0, 100))}: pages of other sites may not ask; name it in "api.cors", or put a reverse proxy before both`,
      );
    return undefined;
  }

  #isOwn(host: string): boolean {
    if (this.#anyName) return true;
    const known = this.#known.get(host);
    if (known !== undefined) return known;
    const name = nameOf(`http://${host}`);
    const isOwn =
      name !== undefined && (name === this.#hostname || name === "localhost" || name.endsWith(".localhost") || isIP(name) !== 0);
    if (this.#known.size >= KNOWN_LIMIT) this.#known.clear();
    this.#known.set(host, isOwn);
    return isOwn;
  }
}

/** What the page's browser must read to let it have the answer (https://fetch.spec.whatwg.org/#http-cors-protocol). */
const CORS = {
  vary: "origin",
  "access-control-allow-methods": "GET, HEAD, POST",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-expose-headers": "link, retry-after",
  "access-control-max-age": "600",
} as const;

/** Goes with whatever is answered, errors too. */
export function allow(response: ServerResponse, origin: string | undefined): void {
  if (origin === undefined) return;
  response.setHeader("access-control-allow-origin", origin);
  for (const [name, value] of Object.entries(CORS)) response.setHeader(name, value);
}

function refused(message: string): ProcmanError {
  return new ProcmanError("origin-refused", message);
}

function nameOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : undefined;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
