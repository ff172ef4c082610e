/** Texts of foreign files with variables in them, and how procman writes them. */
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";

/** What stands for a variable: inside double quotes of a shell, and in a value or path of the configuration. */
export type Reference = {
  readonly shell: string;
  readonly value: string;
  /** Only the shell has it exactly. */
  readonly isRough?: boolean;
  /** Its value may be several words of a command line, or none. */
  readonly isSplit?: boolean;
};

export type ForeignText = readonly (string | Reference)[];

/** `sign`: `:-` uses the fallback also for an empty variable, `-` only for one that is not set. */
export function variable(name: string, sign = "", fallback = ""): Reference {
  return { shell: `\${${name}${sign}${escapedForShell(fallback)}}`, value: `\${${name}${sign}${fallback}}` };
}

/** What compose and process-compose have for a variable that is not set is an empty text. */
function orEmpty(name: string): Reference {
  return { shell: `\${${name}}`, value: `\${${name}:-}` };
}

/** procman fills it in before the shell reads the line. */
const PLACEHOLDER = /^\{(port|instance)\}$/;
const PLAIN = /^[\w@%+=:,./-]+$/;

/** One word of a command line for `/bin/sh`. */
export function shellWord(text: ForeignText): string {
  const plain = text.map((piece) =>
    typeof piece === "string" ? piece : PLACEHOLDER.test(piece.shell) ? piece.shell : undefined,
  );
  if (plain.every((piece) => piece !== undefined))
    return plain.every((piece) => PLACEHOLDER.test(piece) || PLAIN.test(piece))
      ? plain.join("")
      : shellQuote(plain.join(""));
  if (text.some((piece) => typeof piece !== "string" && piece.isSplit === true)) return text.map(looseWord).join("");
  return `"${text.map((piece) => (typeof piece === "string" ? escapedForShell(piece) : piece.shell)).join("")}"`;
}

/** A part of a word. */
function looseWord(piece: string | Reference): string {
  if (typeof piece === "string") return shellQuote(piece);
  return piece.isSplit === true || PLACEHOLDER.test(piece.shell) ? piece.shell : `"${piece.shell}"`;
}

/** A value of `env`. */
export function envValue(text: ForeignText): string {
  return text.map((piece) => (typeof piece === "string" ? piece.replaceAll("${", () => "$${") : piece.value)).join("");
}

/** A path. A leading tilde that means nothing in the foreign file is not a home folder. */
export function pathText(text: ForeignText): string {
  return envValue(text).replace(/^~/, "./~");
}

/** A PATH as fields of procman, whose own PATH is between them. Folders in front of a `${PATH}` come first, or all. */
export function pathFields(value: string): {
  readonly pathFirst?: readonly string[];
  readonly path?: readonly string[];
} {
  const folders = value
    .replace(/\$\{PATH:?-[^}]*(?:\}|$)/g, "${PATH}")
    .split(/:(?!-)/)
    .filter(Boolean);
  const own = folders.indexOf("${PATH}");
  const [first, last] = own === -1 ? [folders, []] : [folders.slice(0, own), folders.slice(own + 1)];
  return { ...(first.length > 0 && { pathFirst: first }), ...(last.length > 0 && { path: last }) };
}

/** Inside double quotes. */
function escapedForShell(text: string): string {
  return text.replace(/[\\"$`]/g, "\\$&");
}

/** The last group: there is no `}`. */
const INTERPOLATION = /\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^}]*))?(?:\}|($)))/g;

/**
 * A text of compose or process-compose: `$NAME`, `${NAME}`, `${NAME:-default}`, and `$$` for a dollar sign. `lost` gets
 * what procman can't express.
 */
export function interpolated(text: string, lost: (what: string) => void): ForeignText {
  const pieces: (string | Reference)[] = [];
  let end = 0;
  for (const found of text.matchAll(INTERPOLATION)) {
    const [whole, dollar, plain, braced = "", sign = "", rest = "", open] = found;
    if (open !== undefined) break;
    pieces.push(text.slice(end, found.index));
    end = found.index + whole.length;
    if (dollar === undefined) pieces.push(referenceTo({ whole, name: plain ?? braced, sign, rest }, lost));
    else pieces.push("$");
  }
  return merged([...pieces, text.slice(end)]);
}

type WrittenReference = Readonly<Record<"whole" | "name" | "sign" | "rest", string>>;

/** A shell has all forms of it, a value of procman only defaults without a variable in them. */
function referenceTo({ whole, name, sign, rest }: WrittenReference, lost: (what: string) => void): Reference {
  if (sign === "") return orEmpty(name);
  const isDefault = sign.endsWith("-");
  if (!isDefault || rest.includes("${")) lost(whole);
  return isDefault ? variable(name, sign, rest) : { ...variable(name, sign, rest), value: variable(name).value };
}

/** Neighbouring texts as one, without empty ones. */
function merged(pieces: readonly (string | Reference)[]): ForeignText {
  const text: (string | Reference)[] = [];
  for (const piece of pieces) {
    const last = text.at(-1);
    if (typeof piece === "string" && typeof last === "string") text[text.length - 1] = last + piece;
    else if (piece !== "") text.push(piece);
  }
  return text;
}

const FIRST_MARK = 0xe000;
const MARKS = /[\ue000-\uf8ff]/;
/** In front of a mark. */
const SPLIT = "\uf8ff";

/** For `splitWords` in `splitText`: variables that are not in quotes are filled in before the line is split. */
export function splitVariables(plain: string): string {
  return plain.replace(/[\ue000-\uf8fe]/g, (mark) => SPLIT + mark);
}

/** Splits a text into words by a splitter of plain texts; a variable never splits, unless `splitVariables` says so. */
export function splitText(text: ForeignText, split: (plain: string) => readonly string[]): readonly ForeignText[] {
  const references = text.filter((piece) => typeof piece !== "string");
  if (references.length > 6_000 || text.some((piece) => typeof piece === "string" && MARKS.test(piece)))
    return split(text.map((piece) => (typeof piece === "string" ? piece : piece.value)).join("")).map((word) => [word]);
  let count = 0;
  const plain = text
    .map((piece) => (typeof piece === "string" ? piece : String.fromCharCode(FIRST_MARK + count++)))
    .join("");
  return split(plain).map((word) => {
    const pieces = word.split(/(\uf8ff?[\ue000-\uf8fe])/).map((part) => {
      const reference = MARKS.test(part) ? references[part.charCodeAt(part.length - 1) - FIRST_MARK] : undefined;
      return reference === undefined ? part : { ...reference, ...(part.startsWith(SPLIT) && { isSplit: true }) };
    });
    return word === "" ? [""] : pieces.filter((piece) => piece !== "");
  });
}

export type VariableFilling = {
  readonly lookUp: (name: string) => string | undefined;
  /** Keys below which variables stay, because procman or a shell reads them when the program starts. */
  readonly kept: ReadonlySet<string>;
  readonly onFilled: (reference: string) => void;
};

/** All texts of a value with their variables filled in now: the other tool does that when it reads its file. */
export function filledIn(value: unknown, filling: VariableFilling): unknown {
  if (typeof value === "string") return filledText(value, filling);
  if (Array.isArray(value)) return value.map((each) => filledIn(each, filling));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, filling.kept.has(key) ? each : filledIn(each, filling)]),
  );
}

/** A text with its variables filled in; empty for one that has no value. */
export function filledText(text: string, { lookUp, onFilled }: Omit<VariableFilling, "kept">): string {
  return text.replace(INTERPOLATION, (whole: string, ...groups: readonly (string | undefined)[]) => {
    const [dollar, plain, braced = "", sign = "", rest = "", open] = groups;
    if (open !== undefined) return whole;
    if (dollar !== undefined) return "$";
    onFilled(whole);
    return chosen(lookUp(plain ?? braced), sign, rest);
  });
}

/** `+` stands for the rest if there is a value, `-` if there is none. */
function chosen(value: string | undefined, sign: string, rest: string): string {
  const isGiven = value !== undefined && !(value === "" && sign.startsWith(":"));
  if (sign.endsWith("+")) return isGiven ? rest : "";
  if (isGiven) return value;
  return sign.endsWith("-") ? rest : "";
}
