/**
 * An address as it stands in URLs and messages: IPv6 in brackets.
 *
 * @example
 * addressText({ hostname: "::1", port: 9000 }) // "[::1]:9000"
 */
export function addressText({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return `${hostText(hostname)}:${port}`;
}

/** @example hostText("::1") // "[::1]" */
export function hostText(hostname: string): string {
  return hostname.includes(":") ? `[${hostname}]` : hostname;
}

/** The address to connect to, for an address to listen on. */
export function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}
