/** `${NAME}` and `${NAME:-default}` in a text. */

/** `missing`: names without value and default. */
export type Expanded = { readonly text: string; readonly missing: readonly string[] };

const REFERENCE = /\$(\$\{)|\$\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?\}/g;

/**
 * The text with values in place of names. `:-` takes the default also for an empty value, `-` only where there is none;
 * `$${` is a plain `${`.
 *
 * @example
 * expand("http://${HOST:-localhost}/", () => undefined).text // "http://localhost/"
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): Expanded {
  const missing: string[] = [];
  const expanded = text.replace(REFERENCE, (written: string, ...groups: readonly (string | undefined)[]) => {
    const [plain, name = "", sign, ifMissing = ""] = groups;
    if (plain !== undefined) return plain;
    const value = lookUp(name);
    if (value !== undefined && !(value === "" && sign === ":-")) return value;
    if (sign !== undefined) return ifMissing;
    missing.push(name);
    return written;
  });
  return { text: expanded, missing };
}

/** Where the text has a `${` that begins no reference, as in `${A B}`, `${A:?no}`, or a default that holds another; undefined: nowhere. */
export function strayIn(text: string): string | undefined {
  const rest = text.replace(REFERENCE, (written) => (written.lastIndexOf("${") > 1 ? written : " ".repeat(written.length)));
  const start = rest.indexOf("${");
  return start === -1 ? undefined : text.slice(start);
}
