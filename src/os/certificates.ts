/**
 * Certificate authorities of the user's own. Node reads them at each start of a process, which takes 30 ms, so procman's own
 * processes go without `NODE_EXTRA_CA_CERTS`; plugins, which may need it, are told the file under another name.
 */
const VARIABLE = "PROCMAN_EXTRA_CA_CERTS";

let file: string | undefined;

/** For the environment of procman's own processes. */
export function certificatesVariable(path: string | undefined): NodeJS.ProcessEnv {
  return path === undefined ? {} : { [VARIABLE]: path };
}

/** Nobody who is started from here shall see the other name. */
export function takeCertificates(): void {
  file = process.env[VARIABLE];
  delete process.env[VARIABLE];
}

/** Path of the file; undefined: there is none. */
export function extraCertificates(): string | undefined {
  return file;
}
