/** References `${NAME}` and `${NAME:-default}` in texts. */

/** `missing`: names without a value or default. */
export type Expanded = { readonly text: string; readonly missing: readonly string[] };

/** The last group: there is no `}`. */
const REFERENCE = /\$(\$\{)|\$\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?(?:\}|($))/g;

/**
 * Replaces references by values. `:-` uses the default also for an empty value, `-` only for a missing one; `$${` is a
 * literal `${`.
 *
 * @example
 * expand("http://${HOST:-localhost}/", () => undefined).text // "http://localhost/"
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): Expanded {
  const missing: string[] = [];
  const expanded = text.replace(REFERENCE, (written: string, ...groups: readonly (string | undefined)[]) => {
    const [plain, name = "", sign, ifMissing = "", open] = groups;
    if (open !== undefined) return written;
    if (plain !== undefined) return plain;
    const value = lookUp(name);
    if (value !== undefined && !(value === "" && sign === ":-")) return value;
    if (sign !== undefined) return ifMissing;
    missing.push(name);
    return written;
  });
  return { text: expanded, missing };
}

/** The variables that a text refers to, each as often as it does. */
export function referencesIn(text: string): readonly { readonly name: string; readonly hasDefault: boolean }[] {
  return [...text.matchAll(REFERENCE)].flatMap(([, plain, name = "", sign, , open]) =>
    plain === undefined && open === undefined ? [{ name, hasDefault: sign !== undefined }] : [],
  );
}

/** The text from the first `${` that doesn't begin a valid reference, as in `${A B}`, `${A:?no}` or a nested default; undefined if there is none. */
export function malformedReferenceIn(text: string): string | undefined {
  const rest = text.replace(REFERENCE, (written, ...groups: readonly unknown[]) =>
    written.lastIndexOf("${") > 1 || groups[4] !== undefined ? written : " ".repeat(written.length),
  );
  const start = rest.indexOf("${");
  return start === -1 ? undefined : text.slice(start);
}

/** A member of a table or of variables; undefined for what every object inherits, such as `constructor`. */
export function ownMember<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
