/** Lists of addresses and networks. */
import { BlockList, isIP } from "node:net";

type AddressRange = { readonly address: string; readonly prefix: number; readonly family: "ipv4" | "ipv6" };

/** An address, or a network as `10.1.0.0/16`; undefined: it is neither. */
export function addressRange(text: string): AddressRange | undefined {
  const [address = "", length, ...more] = text.split("/");
  const family = isIP(address);
  const bits = family === 4 ? 32 : 128;
  const isLength = length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits);
  if (family === 0 || !isLength || more.length > 0) return undefined;
  return { address, prefix: Number(length ?? bits), family: family === 4 ? "ipv4" : "ipv6" };
}

export class AddressList {
  readonly #list = new BlockList();

  /** What is neither an address nor a network is left out. */
  constructor(texts: readonly string[]) {
    for (const range of texts.map(addressRange))
      if (range !== undefined) this.#list.addSubnet(range.address, range.prefix, range.family);
  }

  /** `address`: as a socket has it; on an IPv6 socket an IPv4 client has a mapped one. */
  has(address: string): boolean {
    const plain = address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
    return this.#list.check(plain, isIP(plain) === 6 ? "ipv6" : "ipv4");
  }
}
