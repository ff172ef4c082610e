/** An API that other machines can reach and that nothing encrypts. */
import { isLoopback } from "../../base/loopback.ts";
import type { PartialConfig } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

/** A warning, since the specification (2.6) lets `hostname` expose the API without more. */
export function exposureWarnings({ api }: PartialConfig): readonly Finding[] {
  if (api === false || api?.hostname === undefined || isLoopback(api.hostname)) return [];
  if (api.tls !== undefined || api.insecure === true) return [];
  const remedy = `Add "tls": { "certificate": "…", "key": "…" }, or "insecure": true if a reverse proxy in front does that`;
  const message = `Found ${show(api.hostname)}, which other machines can reach, and no "tls": tokens and logs travel unencrypted. ${remedy}.`;
  return [{ path: ["api", "hostname"], message }];
}
