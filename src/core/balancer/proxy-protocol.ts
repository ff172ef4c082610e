/** The PROXY protocol, version 2: a header before the bytes of a connection, with the address of its client (haproxy.org, proxy-protocol.txt). */
import { isIPv4, isIPv6 } from "node:net";

const SIGNATURE = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
const LOCAL = 0x20;
const PROXY = 0x21;
const TCP4 = 0x11;
const TCP6 = 0x21;
/** Type of the field with the token: the first of those for own use. */
const TOKEN = 0xe0;

export type SocketAddress = { readonly address: string; readonly port: number };

/** The header of a connection from `source` that came in at `destination`. `token`: hexadecimal, for the module of `"node": true`. */
export function proxyHeader(source: SocketAddress, destination: SocketAddress, token?: string): Buffer {
  const from = plain(source.address);
  const to = plain(destination.address);
  if (isIPv4(from) && isIPv4(to))
    return header(PROXY, TCP4, [bytes4(from), bytes4(to), ports(source, destination), tokenField(token)]);
  return header(PROXY, TCP6, [bytes6(from), bytes6(to), ports(source, destination), tokenField(token)]);
}

/** The header of a health check. */
export function localHeader(token?: string): Buffer {
  return header(LOCAL, 0, [tokenField(token)]);
}

function tokenField(token = ""): Buffer {
  return Buffer.from(token === "" ? "" : `${TOKEN.toString(16)}000${token.length / 2}${token}`, "hex");
}

function header(command: number, family: number, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([SIGNATURE, Buffer.from([command, family, body.length >> 8, body.length & 0xff]), body]);
}

function ports(source: SocketAddress, destination: SocketAddress): Buffer {
  const both = Buffer.alloc(4);
  both.writeUInt16BE(source.port, 0);
  both.writeUInt16BE(destination.port, 2);
  return both;
}

/** `::ffff:1.2.3.4` is 1.2.3.4 on a socket for both; a zone (`fe80::1%eth0`) is dropped. */
function plain(address: string): string {
  const bare = address.split("%", 1)[0] as string;
  return bare.startsWith("::ffff:") && isIPv4(bare.slice(7)) ? bare.slice(7) : bare;
}

function bytes4(address: string): Buffer {
  return Buffer.from(address.split(".").map(Number));
}

/** RFC 4291, 2.2; an IPv4 address becomes a mapped one. */
function bytes6(address: string): Buffer {
  if (!isIPv6(address)) return Buffer.concat([Buffer.from("00000000000000000000ffff", "hex"), bytes4(address)]);
  const [head = "", tail] = address.split("::");
  const groups = (text: string | undefined): number[] =>
    text === undefined || text === "" ? [] : text.split(":").map((part) => Number.parseInt(part, 16));
  const before = groups(head);
  const after = groups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  const all = Buffer.alloc(16);
  for (const [index, group] of [...before, ...zeros, ...after].entries()) all.writeUInt16BE(group, 2 * index);
  return all;
}
