/** Machines of a test, each a network namespace with an address of its own; a bridge in another one, the hub, joins them. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

const HUB = "hub";

export class BridgedMachines<Name extends string> {
  readonly #network: string;
  readonly #names: readonly Name[];

  /** `network`: the first three numbers of all addresses. */
  constructor(network: string, names: readonly Name[]) {
    this.#network = network;
    this.#names = names;
  }

  /** The namespace that sees all of them, as a file. */
  get hub(): string {
    return fileOf(HUB);
  }

  /** Needs root. */
  create(): void {
    const hub = namespaceOf(HUB);
    ip("netns", "add", hub);
    ip("-n", hub, "link", "add", "bridge0", "type", "bridge");
    for (const link of ["bridge0", "lo"]) ip("-n", hub, "link", "set", link, "up");
    ip("-n", hub, "addr", "add", `${this.#network}.1/24`, "dev", "bridge0");
    for (const name of this.#names) {
      const own = namespaceOf(name);
      ip("netns", "add", own);
      ip("-n", hub, "link", "add", linkOf(name), "type", "veth", "peer", "name", "eth0", "netns", own);
      ip("-n", hub, "link", "set", linkOf(name), "master", "bridge0", "up");
      ip("-n", own, "addr", "add", `${this.addressOf(name)}/24`, "dev", "eth0");
      for (const link of ["lo", "eth0"]) ip("-n", own, "link", "set", link, "up");
    }
  }

  /** Its namespace, as a file. */
  of(name: Name): string {
    return fileOf(name);
  }

  addressOf(name: Name): string {
    return `${this.#network}.1${this.#names.indexOf(name) + 1}`;
  }

  /** Pulls the plug of a machine. */
  cut(name: Name): void {
    ip("-n", namespaceOf(HUB), "link", "set", linkOf(name), "down");
  }

  /** Puts it in again. */
  join(name: Name): void {
    ip("-n", namespaceOf(HUB), "link", "set", linkOf(name), "up");
  }

  remove(): void {
    for (const name of [...this.#names, HUB]) if (existsSync(fileOf(name))) ip("netns", "del", namespaceOf(name));
  }
}

/** Short: the kernel knows 15 characters of a link. */
function linkOf(name: string): string {
  return `link-${name}`;
}

function namespaceOf(name: string): string {
  return `procman-${process.pid}-${name}`;
}

function fileOf(name: string): string {
  return `/var/run/netns/${namespaceOf(name)}`;
}

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: "pipe" });
}
