/** Modules from the web: fetched once by https, checked against their digest, and cached. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../os/careful-files.ts";
import { makeFolder } from "../os/files.ts";
import { OptionsError } from "./plugin-definition.ts";

const MAX_BYTES = 8 * 1_024 * 1_024;
const TIMEOUT_MS = 20_000;
const MAX_REDIRECTS = 5;

export type RemotePlugin = { readonly url: string; readonly integrity?: string | undefined; readonly cache: string };

/**
 * Path of the module in the cache.
 *
 * @throws {OptionsError} if it can't be fetched, or has another digest
 */
export async function moduleFrom(
  { url, integrity, cache }: RemotePlugin,
  log: (text: string) => void,
): Promise<string> {
  const path = join(
    cache,
    `${createHash("sha256")
      .update(`${url} ${integrity ?? ""}`)
      .digest("hex")}.mjs`,
  );
  const cached = readIfThere(path);
  if (cached !== undefined && (integrity === undefined || digestOf(cached) === integrity)) return path;
  const body = await download(url, cached === undefined ? "" : `; the cached copy (${path}) has been changed`);
  const digest = digestOf(body);
  if (integrity !== undefined && digest !== integrity)
    throw new OptionsError(
      `${url} has the digest ${digest}, not ${integrity}: it has been changed, or the configuration is wrong; check the module, then correct "integrity"`,
    );
  makeFolder(cache, 0o700);
  writeWhole(path, body);
  log(
    `fetched ${url}${integrity === undefined ? `; write "integrity": "${digest}" beside its url, so that a changed module is refused` : ""}`,
  );
  return path;
}

/** In the format of `integrity`. */
export function digestOf(body: Uint8Array): string {
  return `sha256-${createHash("sha256").update(body).digest("base64")}`;
}

/** `note`: added to the message of a failure. */
async function download(url: string, note: string): Promise<Buffer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await follow(url, signal);
    if (!response.ok)
      throw new OptionsError(`${url} was answered with ${response.status}; correct "url", or ask its owner`);
    const type = response.headers.get("content-type") ?? "";
    if (/^text\/html\b/i.test(type))
      throw new OptionsError(`${url} was answered with a page (${type}), not with a module; correct "url"`);
    const body = await bodyOf(response, url);
    if (body.length === 0)
      throw new OptionsError(`${url} was answered without content; correct "url", or ask its owner`);
    return body;
  } catch (error) {
    if (error instanceof OptionsError) throw error;
    throw new OptionsError(`${url} can't be fetched: ${reasonOf(error)}${note}`);
  }
}

/** Follows redirects, to https addresses only. */
async function follow(url: string, signal: AbortSignal): Promise<Response> {
  let current = new URL(url);
  for (let step = 0; step <= MAX_REDIRECTS; step += 1) {
    if (current.protocol !== "https:")
      throw new OptionsError(
        `${url} redirects to ${current.protocol}//${current.host}, which is not https; correct "url"`,
      );
    const response = await fetch(current, { redirect: "manual", signal });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    current = new URL(location, current);
  }
  throw new OptionsError(`${url} redirects more than ${MAX_REDIRECTS} times; correct "url"`);
}

async function bodyOf(response: Response, url: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_BYTES)
      throw new OptionsError(`${url} is larger than ${MAX_BYTES} bytes; that is not a plugin, correct "url"`);
  }
  return Buffer.concat(parts);
}

function reasonOf(error: unknown): string {
  const { message, name, cause } = error as Error & { readonly cause?: NodeJS.ErrnoException };
  if (name === "TimeoutError") return `no answer within ${TIMEOUT_MS / 1_000} s; it will be retried`;
  const code = cause?.code ?? "";
  if (/CERT|VERIFY|SIGNATURE/.test(code))
    return `its certificate is not trusted (${code}); for a CA of your own start procman with NODE_EXTRA_CA_CERTS=FILE`;
  const why = cause === undefined ? message : cause.message || code;
  return `${why}; it will be retried; a file on this machine needs no network`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
