/** Addresses of other procmans: `ssh://user@host:port/folder`, `https://host:port/path`, and on this machine `unix:/path`. */
import { ProcmanError } from "../../core/base/errors.ts";
import { isLoopback } from "../../core/base/loopback.ts";

export type SshAddress = {
  readonly kind: "ssh";
  /** As `ssh` takes it: `user@host`, or a name of its configuration file. */
  readonly destination: string;
  readonly port?: number;
  /** On that machine: the configuration file, or its folder. Absolute. */
  readonly config?: string;
};

type HttpsAddress = { readonly kind: "https" };

export type UnixAddress = {
  readonly kind: "unix";
  /** Path of a socket of `api.group`. Absolute. */
  readonly socket: string;
};

/** @throws {ProcmanError} `usage` */
export function addressIn(url: string): SshAddress | HttpsAddress | UnixAddress {
  const [, socket] = /^unix:(?:\/\/)?(.*)$/s.exec(url) ?? [];
  if (socket !== undefined) return unixAddress(socket, url);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["ssh:", "https:", "http:"].includes(parsed.protocol))
    throw wrong(url, "it is none of ssh://USER@HOST, https://HOST and unix:PATH");
  if (parsed.password !== "")
    throw wrong(url, "it has a password, which other users could see; ssh asks for it, or use a key");
  if (parsed.hash !== "" || parsed.search !== "")
    throw wrong(url, 'it has a part after "?" or "#", which means nothing here');
  if (parsed.protocol === "ssh:") return sshAddress(parsed, url);
  if (parsed.username !== "") throw wrong(url, "it has a user; the API knows tokens alone: --token-file FILE");
  if (!isSafe(parsed)) throw wrong(url, "a token may not travel unencrypted; use https, or ssh://USER@HOST");
  return { kind: "https" };
}

/** Whether a token may travel to this address: encrypted, or within this machine. */
function isSafe({ protocol, hostname }: URL): boolean {
  return protocol === "https:" || isLoopback(hostname);
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

function unixAddress(socket: string, url: string): UnixAddress {
  if (!/^\/[^\0]*[^/\0]$/.test(socket)) throw wrong(url, "after unix: it needs the absolute path of a socket");
  return { kind: "unix", socket };
}

function wrong(url: string, why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot use the address ${JSON.stringify(url)}: ${why}`);
}
