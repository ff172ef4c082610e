/**
 * An address as it stands in URLs and messages: IPv6 in brackets.
 *
 * @example
 * addressText({ hostname: "::1", port: 9000 }) // "[::1]:9000"
 */
export function addressText({ hostname, port }: { readonly hostname: string; readonly port: number }): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}
