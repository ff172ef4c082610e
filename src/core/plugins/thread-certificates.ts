/** Makes a plugin's thread trust the certificate authorities of NODE_EXTRA_CA_CERTS, which Node itself reads only when a process starts. */
import { readFileSync } from "node:fs";
import tls from "node:tls";

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Not in the types of Node 20. */
type DeferredTrust = {
  readonly getCACertificates?: (kind: "default") => string[];
  readonly setDefaultCACertificates?: (certificates: string[]) => void;
};

/** In this thread only. Throws if the file can't be read. */
export function trust(file: string): void {
  process.env.NODE_EXTRA_CA_CERTS = file;
  const extra = readFileSync(file, "utf8").match(CERTIFICATE) ?? [];
  const { getCACertificates, setDefaultCACertificates } = tls as DeferredTrust;
  if (getCACertificates !== undefined && setDefaultCACertificates !== undefined)
    setDefaultCACertificates([...getCACertificates("default"), ...extra]);
  else trustInEachContext(extra);
}

/** Before Node 22.19, which has no function for it: adds them to each new context. */
function trustInEachContext(extra: readonly string[]): void {
  const { createSecureContext, rootCertificates } = tls;
  const all = [...rootCertificates, ...extra];
  tls.createSecureContext = (options) => createSecureContext({ ...options, ca: options?.ca ?? all });
}
