/** Modules from the web: fetched once by https, held against their digest, kept. */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../os/files.ts";
import { OptionsError } from "./plugin-definition.ts";

const MOST_BYTES = 8 * 1_024 * 1_024;
const TIMEOUT_MS = 20_000;
const MOST_REDIRECTS = 5;

export type RemotePlugin = { readonly url: string; readonly integrity?: string | undefined; readonly cache: string };

/**
 * Path of the module. `said`: what its user should know.
 *
 * @throws {OptionsError} it can't be fetched, or is another than it should be
 */
export async function moduleFrom({ url, integrity, cache }: RemotePlugin, said: (text: string) => void): Promise<string> {
  const path = join(
    cache,
    `${createHash("sha256")
      .update(`${url} ${integrity ?? ""}`)
      .digest("hex")}.mjs`,
  );
  const kept = readIfThere(path);
  if (kept !== undefined && (integrity === undefined || digestOf(kept) === integrity)) return path;
  const body = await download(url, kept === undefined ? "" : `; the copy that was kept (${path}) has been changed`);
  const digest = digestOf(body);
  if (integrity !== undefined && digest !== integrity)
    throw new OptionsError(
      `${url} has the digest ${digest}, not ${integrity}: it has been changed, or the configuration is wrong; check the module, then correct "integrity"`,
    );
  makeFolder(cache, 0o700);
  writeFileSync(`${path}.${process.pid}.tmp`, body, { mode: 0o600 });
  renameSync(`${path}.${process.pid}.tmp`, path);
  said(
    `fetched ${url}${integrity === undefined ? `; write "integrity": "${digest}" beside its url, so that it can't be another one day` : ""}`,
  );
  return path;
}

/** As in `integrity`. */
export function digestOf(body: Uint8Array): string {
  return `sha256-${createHash("sha256").update(body).digest("base64")}`;
}

/** `also`: what is the case beside a failure. */
async function download(url: string, also: string): Promise<Buffer> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await follow(url, signal);
    if (!response.ok) throw new OptionsError(`${url} is answered with ${response.status}; correct "url", or ask who serves it`);
    return await bodyOf(response, url);
  } catch (error) {
    if (error instanceof OptionsError) throw error;
    throw new OptionsError(`${url} can't be fetched: ${whyOf(error)}${also}`);
  }
}

/** Never by way of plain http, not for one step. */
async function follow(url: string, signal: AbortSignal): Promise<Response> {
  let at = new URL(url);
  for (let step = 0; step <= MOST_REDIRECTS; step += 1) {
    if (at.protocol !== "https:") throw new OptionsError(`${url} leads to ${at.protocol}//${at.host}, which is no https; correct "url"`);
    const response = await fetch(at, { redirect: "manual", signal });
    const location = response.headers.get("location");
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    at = new URL(location, at);
  }
  throw new OptionsError(`${url} leads from one address to the next; correct "url"`);
}

async function bodyOf(response: Response, url: string): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    parts.push(part);
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new OptionsError(`${url} is larger than ${MOST_BYTES} bytes; that is no plugin, correct "url"`);
  }
  return Buffer.concat(parts);
}

function whyOf(error: unknown): string {
  const { message, name, cause } = error as Error & { readonly cause?: NodeJS.ErrnoException };
  if (name === "TimeoutError") return `no answer within ${TIMEOUT_MS / 1_000} s; it is tried again`;
  const code = cause?.code ?? "";
  if (/CERT|VERIFY|SIGNATURE/.test(code))
    return `its certificate is not trusted (${code}); for a CA of your own start procman with NODE_EXTRA_CA_CERTS=FILE`;
  const why = cause === undefined ? message : cause.message || code;
  return `${why}; it is tried again, a file on this machine needs no network`;
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
