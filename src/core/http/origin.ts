/** Refuses requests of pages from other sites, including DNS rebinding. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { isIP } from "node:net";
import { ProcmanError } from "../base/errors.ts";
import { isLoopback } from "../base/loopback.ts";

/** Maximum number of cached names. */
const KNOWN_LIMIT = 100;

export class OriginCheck {
  readonly #hostname: string;
  /** When listening on other addresses, the host names of the machine are unknown. */
  readonly #anyName: boolean;
  readonly #known = new Map<string, boolean>();
  readonly #allowed: ReadonlySet<string>;
  /** Names under which a reverse proxy serves the API. */
  readonly #hosts: ReadonlySet<string>;

  /**
   * @param hostname the address on which the API listens
   * @param allowed origins whose pages may send requests
   * @param hosts names under which a reverse proxy serves the API: their pages are its own
   */
  constructor(hostname: string, allowed: readonly string[] = [], hosts: readonly string[] = []) {
    this.#allowed = new Set(allowed);
    this.#hosts = new Set(hosts);
    this.#hostname = hostname.toLowerCase();
    this.#anyName = !isLoopback(this.#hostname);
  }

  /**
   * The origin to allow in the answer; undefined: no CORS header is needed.
   *
   * @throws {ProcmanError} `origin-refused`
   */
  check({ host, origin }: IncomingHttpHeaders): string | undefined {
    if (host !== undefined && !this.#isOwn(host))
      throw refused(
        `Cannot answer for the host ${JSON.stringify(host.slice(0, 100))}: use localhost, an IP address, or the name in "api.hostname"; a reverse proxy's name belongs in "api.hosts"`,
      );
    if (origin !== undefined && this.#allowed.has(origin)) return origin;
    // Only pages of the same host are allowed.
    if (origin !== undefined && hostOf(origin) !== host?.toLowerCase() && !this.#hosts.has(nameOf(origin) ?? ""))
      throw refused(
        `Cannot answer a page of ${JSON.stringify(origin.slice(0, 100))}: pages of other sites are not allowed; name it in "api.cors", or, if a reverse proxy serves both under that name, the name in "api.hosts"`,
      );
    return undefined;
  }

  #isOwn(host: string): boolean {
    if (this.#anyName) return true;
    const known = this.#known.get(host);
    if (known !== undefined) return known;
    const name = nameOf(`http://${host}`);
    const isOwn =
      name !== undefined &&
      (name === this.#hostname ||
        this.#hosts.has(name) ||
        name === "localhost" ||
        name.endsWith(".localhost") ||
        isIP(name) !== 0);
    if (this.#known.size >= KNOWN_LIMIT) this.#known.clear();
    this.#known.set(host, isOwn);
    return isOwn;
  }
}

/** Headers of CORS (https://fetch.spec.whatwg.org/#http-cors-protocol). */
const CORS = {
  vary: "origin",
  "access-control-allow-methods": "GET, HEAD, POST",
  "access-control-allow-headers": "authorization, content-type, last-event-id",
  "access-control-expose-headers": "link, retry-after",
  "access-control-max-age": "600",
} as const;

/** Adds the headers to any answer, including errors. */
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
