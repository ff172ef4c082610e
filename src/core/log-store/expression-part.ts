/** A text that each match of a regular expression has, so that blocks without it needn't be asked. */

/** Escapes that stand for one character of a class, or for a place. */
const CLASSES = /^\\[dDsSwWbBAzfnrtva]/;
/** Flags that are repeated: what stands before them is. */
const REPEATED_FLAGS = /^\(\?[a-zA-Z-]+\)[*+?{]/;
const REPEAT = /^\{\d+(?:,\d*)?\}/;
const PRINTABLE = /^[ -~]$/;
/** With the flag `i` they match characters with more bytes, too: "ſ" and the Kelvin sign. */
const FOLDED = /[ks]/i;
const SHORTEST = 2;

/** The longest one outside of groups; undefined: none is known. */
export function partOfExpression(source: string): string | undefined {
  const isFolded = /\(\?[a-zA-Z-]*i/.test(source);
  const runs: string[] = [""];
  const add = (character: string): void => {
    const run = runs.pop() ?? "";
    if (PRINTABLE.test(character) && !(isFolded && FOLDED.test(character))) runs.push(run + character);
    else runs.push(run, "");
  };
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at);
    const token = tokenOf(rest);
    if (token === undefined) return undefined;
    if (token.kind === "optional") runs.push((runs.pop() ?? "").slice(0, -1));
    if (token.kind === "text") add(token.text);
    else runs.push("");
    at += token.length;
  }
  const longest = runs.reduce((best, run) => (run.length > best.length ? run : best), "");
  return longest.length < SHORTEST ? undefined : longest;
}

type ExpressionToken = { readonly length: number } & (
  | { readonly kind: "text"; readonly text: string }
  /** The character before it may be missing. */
  | { readonly kind: "optional" | "other" }
);

/** undefined: what follows may stand for anything, such as an alternative. */
function tokenOf(rest: string): ExpressionToken | undefined {
  const [first = "", second = ""] = rest;
  if (first === "\\") {
    if (CLASSES.test(rest)) return { kind: "other", length: 2 };
    return /[A-Za-z0-9]/.test(second) ? undefined : { kind: "text", text: second, length: 2 };
  }
  const [repeat] = REPEAT.exec(rest) ?? [];
  if (repeat !== undefined) return { kind: "optional", length: repeat.length };
  switch (first) {
    case "|":
      return undefined;
    case "*":
    case "?":
      return { kind: "optional", length: 1 };
    case "(":
      return REPEATED_FLAGS.test(rest) ? undefined : { kind: "other", length: lengthOfGroup(rest) };
    case "[":
      return { kind: "other", length: lengthOfClass(rest) };
    case "+":
    case ".":
    case "^":
    case "$":
    case ")":
      return { kind: "other", length: 1 };
    default:
      return { kind: "text", text: first, length: 1 };
  }
}

function lengthOfGroup(rest: string): number {
  let depth = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const character = rest[at];
    if (character === "\\") at += 1;
    else if (character === "[") at += lengthOfClass(rest.slice(at)) - 1;
    else if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    if (depth === 0) return at + 1;
  }
  return rest.length;
}

/** `[^]a[:digit:]\]]`: a bracket at the beginning, in a name, or behind a backslash doesn't end it. */
function lengthOfClass(rest: string): number {
  for (let at = rest.startsWith("[^") ? 3 : 2; at < rest.length; at += 1) {
    if (rest[at] === "\\") at += 1;
    else if (rest.startsWith("[:", at)) at = Math.max(at, rest.indexOf(":]", at) + 1);
    else if (rest[at] === "]") return at + 1;
  }
  return rest.length;
}
