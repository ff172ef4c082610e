/**
 * The user's additional certificate authorities. Node reads them whenever a process starts, which takes 30 ms.
 * procman's own processes therefore run without `NODE_EXTRA_CA_CERTS`; plugins, which may need it, find the path in
 * another variable.
 */
const VARIABLE = "PROCMAN_EXTRA_CA_CERTS";

let file: string | undefined;

/** Variable for the environment of procman's own processes. */
export function certificatesVariable(path: string | undefined): NodeJS.ProcessEnv {
  return path === undefined ? {} : { [VARIABLE]: path };
}

/** Reads the variable and removes it, so that child processes don't inherit it. */
export function takeCertificates(): void {
  file = process.env[VARIABLE];
  delete process.env[VARIABLE];
}

/** Path of the file, or undefined if there is none. */
export function extraCertificates(): string | undefined {
  return file;
}
