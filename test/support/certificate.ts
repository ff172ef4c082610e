/** Certificates for tests, made by openssl. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import type { TlsFiles } from "../../src/core/os/tls-files.ts";

export type CertificateOptions = {
  /** Of its files. */
  readonly name?: string;
  readonly days?: number;
};

/** A self-signed certificate for 127.0.0.1 and `localhost`. */
export function certificateIn(folder: string, { name = "own", days = 2 }: CertificateOptions): TlsFiles {
  const files = { certificate: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) };
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const names = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"];
  execFileSync(
    "openssl",
    ["req", "-x509", ...curve, ...names, "-days", String(days), "-keyout", files.key, "-out", files.certificate],
    {
      stdio: "ignore",
    },
  );
  return files;
}
