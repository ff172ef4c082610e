/** The API of a host that is reached by https, or by the socket of a group. */
import { statSync } from "node:fs";
import { ProcmanError } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import { checkAnswer } from "./checked-answer.ts";
import { addressIn } from "./host-address.ts";
import { hostsNamed, type NamedHost } from "./host-file.ts";
import type { RemoteApi } from "./remote-api.ts";

/** @throws {ProcmanError} `usage`: it is unknown, or not one; or a file of this machine was named, too */
export function remoteApi(
  name: string,
  target: { readonly config?: string | undefined; readonly name?: string | undefined },
): RemoteApi {
  if (target.config !== undefined || target.name !== undefined)
    throw new ProcmanError(
      "usage",
      `Cannot use --config or --name with --host ${name}: its address is that of one procman`,
    );
  const [host, ...others] = hostsNamed(name);
  if (host === undefined || others.length > 0)
    throw new ProcmanError("usage", `Cannot use the hosts ${name} here: name one`);
  return apiOf(host);
}

/** @throws {ProcmanError} `usage` */
export function apiOf({ name, url, tokenFile, ca }: NamedHost): RemoteApi {
  if (addressIn(url).kind === "unix") return { host: name, url, check: checkAnswer };
  if (tokenFile === undefined) throw new ProcmanError("usage", `Cannot reach ${name} by ${url}: it has no token file`);
  warnOfReaders(tokenFile);
  return { host: name, url, tokenFile, check: checkAnswer, ...(ca !== undefined && { ca }) };
}

/** Files of which it was said. */
const warned = new Set<string>();

function warnOfReaders(file: string): void {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0 || warned.has(file)) return;
  warned.add(file);
  process.stderr.write(
    `procman: other users may read or change the token in ${printable(file)}: chmod 600 ${printable(file)}\n`,
  );
}
