/** Patterns of paths: `*` and `?` stay within a name, `**` goes through folders, `{a,b}` and `[ab]` choose. A dot is a letter like any other. */

const MAGIC = /[*?[{]/;

/** Whether it is more than the name of one file. */
export function isPattern(text: string): boolean {
  return MAGIC.test(text);
}

/**
 * Tests paths with `/` between their parts by any of the patterns. One that ends in `/**` takes in the folder itself.
 *
 * @example
 * globTest(["src/**\/*.{ts,tsx}"])("src/app/main.tsx") // true
 */
export function globTest(patterns: readonly string[]): (path: string) => boolean {
  if (patterns.length === 0) return () => false;
  const sources = patterns.map((pattern) => sourceOf(pattern.replace(/^(?:\.\/)+/, "").replace(/(?:\*\*\/)+/g, "**/")));
  const expression = new RegExp(`^(?:${sources.join("|")})$`, "s");
  return (path) => expression.test(path);
}

const TOKENS = /\/\*\*$|\*\*\/|\*+|\?|\[[!^]?[^\]/]+\]|[{},]|\\?[\s\S]/g;

const WILD: Readonly<Record<string, string>> = { "/**": "(?:/.*)?", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]" };

/** A brace that is never closed is a letter. */
function sourceOf(pattern: string, hasBraces = true): string {
  let depth = 0;
  const source = pattern.replace(TOKENS, (token) => {
    const brace = hasBraces ? braceOf(token, depth) : undefined;
    depth += brace?.step ?? 0;
    return brace?.source ?? WILD[token] ?? partOf(token);
  });
  return depth === 0 ? source : sourceOf(pattern, false);
}

function partOf(token: string): string {
  if (token.startsWith("*")) return ".*";
  if (token.length > 2 && token.startsWith("[")) return setOf(token);
  return escaped(token.length > 1 ? token.slice(1) : token);
}

function braceOf(token: string, depth: number): { readonly source: string; readonly step: number } | undefined {
  if (token === "{") return { source: "(?:", step: 1 };
  if (depth === 0) return undefined;
  if (token === "}") return { source: ")", step: -1 };
  return token === "," ? { source: "|", step: 0 } : undefined;
}

/** `[!a-z]`. A range that runs backwards (`[z-a]`) would be no expression: it is taken letter by letter. */
function setOf(token: string): string {
  const isNot = /^\[[!^]/.test(token);
  const letters = token.slice(isNot ? 2 : 1, -1);
  const parts = letters.replace(/(.)-(.)|./gs, (part, from = "", to = "") =>
    part.length === 3 && from <= to ? `${literal(from)}-${literal(to)}` : [...part].map(literal).join(""),
  );
  return `[${isNot ? "^/" : ""}${parts}]`;
}

function literal(letter: string): string {
  return /[\\\]^[-]/.test(letter) ? `\\${letter}` : letter;
}

function escaped(letters: string): string {
  return letters.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
