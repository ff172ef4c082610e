/** Addresses of other machines: `ssh://user@host:port/folder` and `https://host:port/path`. */
import { ProcmanError } from "../../core/base/errors.ts";
import { isSafe } from "./remote-api.ts";

export type SshAddress = {
  readonly kind: "ssh";
  /** As `ssh` takes it: `user@host`, or a name of its configuration file. */
  readonly destination: string;
  readonly port?: number;
  /** On that machine: the configuration file, or its folder. Absolute. */
  readonly config?: string;
};

type HttpsAddress = { readonly kind: "https" };

/** @throws {ProcmanError} `usage` */
export function addressIn(url: string): SshAddress | HttpsAddress {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["ssh:", "https:", "http:"].includes(parsed.protocol))
    throw wrong(url, "it is neither ssh://USER@HOST nor https://HOST");
  if (parsed.password !== "")
    throw wrong(url, "it has a password, which other users could see; ssh asks for it, or use a key");
  if (parsed.hash !== "" || parsed.search !== "")
    throw wrong(url, 'it has a part after "?" or "#", which means nothing here');
  if (parsed.protocol === "ssh:") return sshAddress(parsed, url);
  if (parsed.username !== "") throw wrong(url, "it has a user; the API knows tokens alone: --token-file FILE");
  if (!isSafe(parsed)) throw wrong(url, "a token may not travel unencrypted; use https, or ssh://USER@HOST");
  return { kind: "https" };
}

function sshAddress({ hostname, port, username, pathname }: URL, url: string): SshAddress {
  const name = decodeURIComponent(hostname).replace(/^\[|\]$/g, "");
  const user = decodeURIComponent(username);
  // ssh would take them for options (CVE-2017-1000117).
  if (name === "" || name.startsWith("-") || user.startsWith("-")) throw wrong(url, "it has no name of a machine");
  const path = decodeURIComponent(pathname);
  return {
    kind: "ssh",
    destination: user === "" ? name : `${user}@${name}`,
    ...(port !== "" && { port: Number(port) }),
    ...(path.length > 1 && { config: path }),
  };
}

function wrong(url: string, why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot use the address ${JSON.stringify(url)}: ${why}`);
}
