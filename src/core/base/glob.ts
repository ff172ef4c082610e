/** Patterns for paths. */
import { GlobAutomaton, type UnitTest } from "./glob-automaton.ts";

// Patterns: `*` and `?` stay within a name, `**` spans folders, `{a,b}` and `[ab]` are alternatives. A leading dot is
// not special.
const MAGIC = /[*?[{]/;

/** Whether the text contains characters of a pattern. */
export function isPattern(text: string): boolean {
  return MAGIC.test(text);
}

/**
 * Tests whether a path matches any of the patterns. A pattern that ends in `/**` also matches the folder itself.
 *
 * @example
 * globTest(["src/**\/*.{ts,tsx}"])("src/app/main.tsx") // true
 */
export function globTest(patterns: readonly string[]): (path: string) => boolean {
  if (patterns.length === 0) return () => false;
  const all = patterns.map((pattern) => pattern.replace(/^(?:\.\/)+/, "").replace(/(?:\*\*\/)+/g, "**/"));
  const simple = all.filter(isSimple);
  const others = all.filter((pattern) => !isSimple(pattern));
  const expression =
    simple.length === 0 ? undefined : new RegExp(`^(?:${simple.map((each) => sourceOf(each)).join("|")})$`, "s");
  const automata = others.map((pattern) => automatonOf(pattern));
  return (path) => expression?.test(path) === true || automata.some((automaton) => automaton.matches(path));
}

/** Whether a regular expression is fast for every path. With more wildcards it may try very many ways. */
function isSimple(pattern: string): boolean {
  return (pattern.match(/\*+/g) ?? []).length <= 2 && !/\{[^{}]*\*/.test(pattern);
}

/** A brace without its counterpart is literal. */
export function automatonOf(pattern: string, hasBraces = true): GlobAutomaton {
  const automaton = new GlobAutomaton();
  let depth = 0;
  for (const [token] of pattern.matchAll(TOKENS)) {
    const brace = hasBraces ? braceOf(token, depth) : undefined;
    depth += brace?.step ?? 0;
    if (brace === undefined) addToken(automaton, token);
    else automaton.alternatives(token as "{" | "," | "}");
  }
  return depth === 0 ? automaton : automatonOf(pattern, false);
}

function addToken(automaton: GlobAutomaton, token: string): void {
  if (token === "/**") automaton.belowOrSelf();
  else if (token === "**/") automaton.folders();
  else if (token.startsWith("*")) automaton.any(token === "*" ? (unit) => unit !== "/" : () => true);
  else automaton.one(unitTest(token));
}

function unitTest(token: string): UnitTest {
  if (token === "?") return (unit) => unit !== "/";
  if (token.length > 2 && token.startsWith("[")) {
    const expression = new RegExp(`^${characterClass(token)}$`, "s");
    return (unit) => expression.test(unit);
  }
  const wanted = token.length > 1 ? token.slice(1) : token;
  return (unit) => unit === wanted;
}

const TOKENS = /\/\*\*$|\*\*\/|\*+|\?|\[[!^]?[^\]/]{1,100}\]|[{},]|\\?[\s\S]/g;

const WILDCARDS: Readonly<Record<string, string>> = { "/**": "(?:/.*)?", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]" };

/** The same as a regular expression. */
export function sourceOf(pattern: string, hasBraces = true): string {
  let depth = 0;
  const source = pattern.replace(TOKENS, (token) => {
    const brace = hasBraces ? braceOf(token, depth) : undefined;
    depth += brace?.step ?? 0;
    return brace?.source ?? WILDCARDS[token] ?? partOf(token);
  });
  return depth === 0 ? source : sourceOf(pattern, false);
}

function partOf(token: string): string {
  if (token.startsWith("*")) return ".*";
  if (token.length > 2 && token.startsWith("[")) return characterClass(token);
  return escaped(token.length > 1 ? token.slice(1) : token);
}

function braceOf(token: string, depth: number): { readonly source: string; readonly step: number } | undefined {
  if (token === "{") return { source: "(?:", step: 1 };
  if (depth === 0) return undefined;
  if (token === "}") return { source: ")", step: -1 };
  return token === "," ? { source: "|", step: 0 } : undefined;
}

/** For example `[!a-z]`. An invalid range (`[z-a]`) is taken as single characters. */
function characterClass(token: string): string {
  const isNegated = /^\[[!^]/.test(token);
  const letters = token.slice(isNegated ? 2 : 1, -1);
  const parts = letters.replace(/(.)-(.)|./gs, (part, from = "", to = "") =>
    part.length === 3 && from <= to ? `${literal(from)}-${literal(to)}` : [...part].map(literal).join(""),
  );
  return `[${isNegated ? "^/" : ""}${parts}]`;
}

function literal(letter: string): string {
  return /[\\\]^[-]/.test(letter) ? `\\${letter}` : letter;
}

function escaped(letters: string): string {
  return letters.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
