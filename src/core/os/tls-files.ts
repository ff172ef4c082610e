/** Certificate and key of a TLS server, from their files. */
import { readWhole } from "./careful-files.ts";

/** Absolute paths of files in PEM. */
export type TlsFiles = {
  /** The server's own certificate, followed by those between it and its authority. */
  readonly certificate: string;
  readonly key: string;
};

export type TlsIdentity = {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** When the certificate ends. Milliseconds since 1970. */
  readonly validUntil: number;
};

/** @throws {Error} that says which file is wrong, and how */
export function readTlsFiles(files: TlsFiles): TlsIdentity {
  const cert = readPem(files.certificate);
  const key = readPem(files.key);
  // Loaded here, since few configurations need it.
  const { X509Certificate, createPrivateKey } = process.getBuiltinModule("node:crypto");
  const certificate = parsed(files.certificate, "certificate in PEM", () => new X509Certificate(cert));
  const privateKey = parsed(files.key, "private key in PEM without a passphrase", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${files.key} is not the key of ${files.certificate}`);
  return { cert, key, validUntil: Date.parse(certificate.validTo) };
}

/** What is wrong with a certificate that is, or will soon be, out of date; undefined: nothing. */
export function expiryOf(
  { validUntil }: Pick<TlsIdentity, "validUntil">,
  now: number = Date.now(),
): string | undefined {
  if (validUntil > now) return undefined;
  return `its certificate expired on ${new Date(validUntil).toISOString().slice(0, 10)}, so clients refuse it`;
}

function readPem(file: string): Buffer {
  try {
    return readWhole(file);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? "there is no such file" : message.replace(/^E[A-Z]+: /, "");
    throw new Error(`${file} can't be read: ${why}`, { cause });
  }
}

function parsed<T>(file: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new Error(`${file} is not a ${what}`, { cause });
  }
}
