/** A JSONC text as data, with the place of every value in it. */
import { type Node, type ParseError, parseTree } from "jsonc-parser";
import { didYouMean } from "../base/suggest.ts";
import { fastParse, isShortest } from "./fast-parse.ts";

export type JsonPath = readonly (string | number)[];

/** Lines and columns count from 1, columns in UTF-16 units; both are 0 where there is no text. */
export type TextPlace = { readonly line: number; readonly column: number };

/** Where a value was written: the name of the file in messages, empty without a file, and its path in that text. */
export type ValuePlace = TextPlace & { readonly file: string; readonly path: JsonPath };

export type SyntaxFault = TextPlace & { readonly file: string; readonly path: string; readonly message: string };

/** Texts by the names of their files in messages, in the order in which their problems are shown. */
export type Sources = ReadonlyMap<string, string>;

export type Document = {
  readonly data: unknown;
  /** Syntax errors; while there are any, nothing else is checked. */
  readonly syntax: readonly SyntaxFault[];
  /** Other problems of a text alone, as duplicate keys of one object. */
  readonly faults: readonly SyntaxFault[];
  readonly sources: Sources;
  /** Place of a value, or of its key; for a missing value the place of the nearest enclosing one. A value may come from a profile or another file. */
  readonly place: (path: JsonPath, of?: "value" | "key") => ValuePlace;
};

/** Reads JSON with comments and trailing commas. `file`: its name in messages. Never throws: errors are in `syntax` and `faults`. */
export function parseDocument(source: string, file = ""): Document {
  const read = fastParse(source);
  if (read === undefined || isDeep(read.data)) return placedDocument(source, file);
  let placed: Document | undefined;
  // Places are rarely needed, so they are computed on demand.
  const place: Document["place"] = (path, of) => {
    placed ??= placedDocument(source, file);
    return placed.place(path, of);
  };
  return { ...read, syntax: [], faults: [], sources: new Map([[file, source]]), place };
}

/** The same, slower, with all places; it finds all errors. */
export function placedDocument(source: string, file = ""): Document {
  const locate = locator(source);
  const { root, faults: errors } = treeOf(source);
  // Something missing at the end of the file is shown at the end of the last line with text.
  const end = source.trimEnd().length;
  const syntax = errors.map((error) => ({
    file,
    ...locate(Math.min(error.offset, end)),
    path: "",
    message: error.message,
  }));
  const faults: SyntaxFault[] = [];
  const data =
    root === undefined
      ? undefined
      : dataOf(root, {
          source,
          onDuplicate: (key, path) => {
            const message = `Found ${JSON.stringify(key.value)} a second time in the same object; allowed: once. Remove one of the two.`;
            faults.push({ file, ...locate(key.offset), path: showPath(path), message });
          },
        });
  const place: Document["place"] = (path, of = "value") => ({ file, ...locate(offsetOf(root, path, of)), path });
  return { data, syntax, faults, sources: new Map([[file, source]]), place };
}

/** Removes the byte order mark, which is not part of line 1. */
export function withoutBom(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** `processes[0].restart`; keys that are not plain words stand in brackets. */
export function showPath(path: JsonPath): string {
  const parts = path.map((part) => {
    if (typeof part === "number") return `[${part}]`;
    return /^[$A-Za-z_][\w$]*$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`;
  });
  return parts.join("").replace(/^\./, "");
}

/** No configuration needs as many levels of brackets. */
export const MAX_DEPTH = 200;
export const TOO_DEEP = `Found brackets nested too deeply to be read; allowed: ${MAX_DEPTH} levels.`;

function isDeep(value: unknown, levels = MAX_DEPTH): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeep(member, levels - 1));
}

/** Offset of the first bracket that is nested too deeply. */
function deepPlace({ type, offset, children = [] }: Node, levels = MAX_DEPTH): number | undefined {
  if (levels === 0 && (type === "array" || type === "object")) return offset;
  for (const child of children) {
    const place = deepPlace(child, type === "property" ? levels : levels - 1);
    if (place !== undefined) return place;
  }
  return undefined;
}

type ParseFault = { readonly offset: number; readonly message: string };

function treeOf(source: string): { readonly root?: Node; readonly faults: readonly ParseFault[] } {
  if (!/\S/.test(source))
    return {
      faults: [
        { offset: 0, message: "Found nothing: the file is empty. `procman init --force` writes one to start from." },
      ],
    };
  try {
    const errors: ParseError[] = [];
    const root = parseTree(source, errors, { allowTrailingComma: true });
    const faults = firstPerLine(source, errors).map((error) => ({
      offset: error.offset,
      message: describe(error, source),
    }));
    const deep = root === undefined ? undefined : deepPlace(root);
    if (deep !== undefined) return { faults: [{ offset: deep, message: TOO_DEEP }] };
    return root === undefined ? { faults } : { root, faults };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { faults: [{ offset: 0, message: TOO_DEEP }] };
  }
}

/** Drops follow-up errors: after a mistake, further errors on the same line or about the next closing bracket are noise. */
function firstPerLine(source: string, errors: readonly ParseError[]): readonly ParseError[] {
  const kept: ParseError[] = [];
  let hasUnclosed = false;
  let isOnNewLine = false;
  let seen = 0;
  for (const error of errors.toSorted((a, b) => a.offset - b.offset)) {
    const echo = error.error === VALUE_EXPECTED && /[\]}]/.test(source.charAt(error.offset));
    isOnNewLine ||= /[\r\n]/.test(source.slice(seen, error.offset));
    seen = error.offset;
    // An unclosed string has swallowed the commas and brackets of its line: none is really missing.
    if (isPunctuation(error) && hasUnclosed) continue;
    if (kept.length > 0 && (echo || !isOnNewLine)) continue;
    kept.push(error);
    hasUnclosed ||= error.error === STRING_UNCLOSED;
    isOnNewLine = false;
  }
  return kept;
}

const VALUE_EXPECTED = 4;
const STRING_UNCLOSED = 12;

/** The error is about missing punctuation, not about an unreadable word. */
function isPunctuation({ error }: ParseError): boolean {
  return error >= 2 && error <= 9;
}

/** By number, since `ParseErrorCode` is a const enum that is gone at run time. */
const EXPECTED: Readonly<Record<number, string>> = {
  2: "a number such as 10 or 0.5",
  3: 'a key in double quotes, such as "name"',
  4: "a value: a string in double quotes, a number, true, false, null, an object or an array",
  5: 'a ":" between key and value',
  6: 'a "," between two entries',
  7: 'a "}" that closes the object',
  8: 'a "]" that closes the array',
  9: "the end of the file",
  11: "a comment that ends with */",
  12: "a string that ends with a double quote on the same line",
  13: "a number with digits after its point or exponent",
  14: "four hexadecimal digits after \\u",
  15: 'one of \\" \\\\ \\/ \\b \\f \\n \\r \\t \\u after a backslash',
  16: "no control characters in a string; write a tab as \\t",
};

function describe({ error, offset, length }: ParseError, source: string): string {
  const found = source.slice(offset, offset + Math.max(1, length));
  const short = (found.length > 40 ? `${found.slice(0, 39)}…` : found).replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    "\u00b7",
  );
  const what = offset >= source.length ? "the end of the file" : `\`${short}\``;
  if (found.startsWith("'")) return `Found ${what}; expected double quotes: JSON has no single quotes.`;
  const suggestion = error === 1 ? didYouMean(found, ["true", "false", "null"]) : "";
  return `Found ${what}; expected ${EXPECTED[betterCode(error, found, source.slice(offset + length))] ?? EXPECTED[VALUE_EXPECTED]}.${suggestion}`;
}

/** The parser's code, or a better one: a wrong closing bracket is not a missing comma, and a bare word before a colon is a key. */
function betterCode(error: number, found: string, after: string): number {
  if (error === 6 && found === "}") return 8;
  if (error === 6 && found === "]") return 7;
  return error === 1 && /^\s*:/.test(after) ? 3 : error;
}

type DataReading = { readonly source: string; readonly onDuplicate: (key: Node, path: JsonPath) => void };

function dataOf(node: Node, reading: DataReading, path: JsonPath = []): unknown {
  const { children = [], type, offset, length } = node;
  if (type === "array") return children.map((child, index) => dataOf(child, reading, [...path, index]));
  if (type === "number" && isVariable(path)) return asWritten(reading.source.slice(offset, offset + length));
  if (type !== "object") return node.value;
  const object: Record<string, unknown> = {};
  for (const { children: [key, value] = [] } of children) {
    if (key === undefined || value === undefined) continue;
    const here = [...path, String(key.value)];
    if (Object.hasOwn(object, key.value)) reading.onDuplicate(key, here);
    // Not by assignment: "__proto__" would set the prototype.
    Object.defineProperty(object, key.value, {
      value: dataOf(value, reading, here),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return object;
}

/** Whether it is the path of an environment variable: at the top level, of `defaults`, of a process, or of a profile. */
function isVariable(path: JsonPath): boolean {
  const [top, ...below] = path[0] === "profiles" ? path.slice(2) : path;
  const [first, second, third, ...rest] = top === undefined || top === "defaults" ? below : [top, ...below];
  if (first === "env") return second !== undefined && third === undefined;
  return first === "processes" && typeof second === "number" && third === "env" && rest.length === 1;
}

/** A number, or its text if JavaScript would write it in another way: a variable gets it as it is in the file. */
function asWritten(text: string): number | string {
  return isShortest(text) ? Number(text) : text;
}

function offsetOf(root: Node | undefined, path: JsonPath, of: "value" | "key"): number {
  let node = root;
  let key = root;
  for (const step of path) {
    const property =
      typeof step === "string" ? node?.children?.findLast((child) => child.children?.[0]?.value === step) : undefined;
    const child = typeof step === "number" ? node?.children?.[step] : property?.children?.[1];
    if (child === undefined) break;
    node = child;
    key = property?.children?.[0] ?? child;
  }
  return (of === "key" ? key : node)?.offset ?? 0;
}

function locator(source: string): (offset: number) => TextPlace {
  const lineStarts = [0];
  for (const { index, 0: text } of source.matchAll(/\r\n|\r|\n/g)) lineStarts.push(index + text.length);
  return (offset) => {
    const line = lastAtMost(lineStarts, offset);
    return { line: line + 1, column: offset - (lineStarts[line] ?? 0) + 1 };
  };
}

/** Index of the last of these ascending numbers that isn't above the limit; the first is not. */
function lastAtMost(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) <= limit) low = middle;
    else high = middle;
  }
  return low;
}
