/** Certificate authorities of the user's own, for what a plugin's thread connects to: Node itself reads them only at the start of a process. */
import { readFileSync } from "node:fs";
import tls from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/** Not in the types of Node 20. */
type DeferredTrust = {
  readonly getCACertificates?: (kind: "default") => string[];
  readonly setDefaultCACertificates?: (certificates: string[]) => void;
};

/** For this thread alone. Throws when the file can't be read. */
export function trust(file: string): void {
  process.env.NODE_EXTRA_CA_CERTS = file;
  const extra = readFileSync(file, "utf8").match(CERTIFICATE) ?? [];
  const { getCACertificates, setDefaultCACertificates } = tls as DeferredTrust;
  if (getCACertificates !== undefined && setDefaultCACertificates !== undefined)
    setDefaultCACertificates([...getCACertificates("default"), ...extra]);
  else trustInEachContext(extra);
}

/** Before Node 22.19 there is no function for it: each new context gets them. */
function trustInEachContext(extra: readonly string[]): void {
  const { createSecureContext, rootCertificates } = tls;
  const all = [...rootCertificates, ...extra];
  tls.createSecureContext = (options) => createSecureContext({ ...options, ca: options?.ca ?? all });
}
