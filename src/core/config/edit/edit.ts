/**
 * Adds and removes processes in the text of a configuration. All other bytes stay, comments and indentation included.
 * Comments directly above a process and on its line belong to it.
 */
import { type Node, parse, parseTree } from "jsonc-parser";
import { ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";
import {
  eolOf,
  indentOf,
  indentUnit,
  isFirstOnLine,
  leadingSpaces,
  lineStart,
  oneLine,
  severalLines,
  withoutTrailingSpaces,
} from "./json-style.ts";
import { type Separators, separatorsOf } from "./separators.ts";

type Splice = { readonly from: number; readonly to: number; readonly text: string };

/** The list of processes: its elements, and the offsets just inside its brackets. */
type List = {
  readonly elements: readonly Node[];
  readonly from: number;
  readonly to: number;
  readonly root: Node;
  readonly hasSpaces: boolean;
};

/**
 * Adds a process at the end of the list, in the style of the file.
 *
 * @throws {ProcmanError} `configuration-invalid`: the text has no list of processes.
 *
 * @example
 * appendProcess('{ "processes": [] }', { id: "web", cmd: "node ." }); // { "processes": [{ "id": "web", "cmd": "node ."
 * }] }
 */
export function appendProcess(source: string, process: unknown): string {
  return edit(source, (text, list) => {
    const last = list.elements.at(-1);
    return last === undefined ? appendFirst(text, list, process) : appendNext(text, { ...list, last }, process);
  });
}

/**
 * Removes a process with its comments and its comma.
 *
 * @throws {ProcmanError} `process-unknown`: no process has this id.
 *
 * @example
 * removeProcess('{ "processes": [{ "id": "web", "cmd": "node ." }] }', "web"); // { "processes": [] }
 */
export function removeProcess(source: string, id: string): string {
  return edit(source, (text, list) => {
    const element = list.elements.find((candidate) => idOf(candidate) === id);
    if (element !== undefined) return removeElement(text, list, element);
    const near = didYouMean(
      id,
      list.elements.flatMap((candidate) => idOf(candidate) ?? []),
    );
    throw new ProcmanError("process-unknown", `Cannot remove ${JSON.stringify(id)}: no such process.${near}`);
  });
}

/**
 * A process as it is written in the text; undefined: no process has this id.
 *
 * @throws {ProcmanError} `configuration-invalid`: the text has no list of processes.
 *
 * @example
 * processIn('{ "processes": [{ "id": "web", "cmd": "node ." }] }', "web"); // { id: "web", cmd: "node ." }
 */
export function processIn(source: string, id: string): unknown {
  const text = source.replace(/^\uFEFF/, "");
  const element = listOf(text).elements.find((candidate) => idOf(candidate) === id);
  return element === undefined
    ? undefined
    : parse(text.slice(element.offset, endOf(element)), [], { allowTrailingComma: true });
}

/** A process as a text has it, with its comments. */
export type ProcessText = {
  /** Line on which it begins; the first is 1. */
  readonly line: number;
  /** Its indentation is that of its first line, which has none. */
  readonly text: string;
};

/**
 * All processes of a text as they are written, by their ids.
 *
 * @throws {ProcmanError} `configuration-invalid`: the text has no list of processes.
 *
 * @example
 * processTexts('{ "processes": [{ "id": "web" }] }').get("web"); // { line: 1, text: '{ "id": "web" }' }
 */
export function processTexts(source: string): ReadonlyMap<string, ProcessText> {
  const text = source.replace(/^\uFEFF/, "");
  const list = listOf(text);
  const texts = new Map<string, ProcessText>();
  for (const element of list.elements) {
    const id = idOf(element);
    const { before, after } = separatorsAround(text, list, element);
    if (id === undefined) continue;
    const indent = indentOf(text, before.lead);
    const lines = text.slice(before.lead, after.tail).split(/\r\n|\r|\n/);
    const outdented = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line)).join("\n");
    texts.set(id, { line: text.slice(0, before.lead).split(/\r\n|\r|\n/).length, text: outdented.replace(/,$/, "") });
  }
  return texts;
}

function idOf(element: Node): string | undefined {
  const id: unknown = memberOf(element, "id")?.children?.[1]?.value;
  return typeof id === "string" ? id : undefined;
}

function edit(source: string, splices: (text: string, list: List) => readonly Splice[]): string {
  const bom = source.startsWith("\uFEFF") ? "\uFEFF" : "";
  const text = source.slice(bom.length);
  const ordered = splices(text, listOf(text)).toSorted((a, b) => a.from - b.from);
  let result = bom;
  let at = 0;
  for (const { from, to, text: added } of ordered) {
    result += text.slice(at, from) + added;
    at = to;
  }
  return result + text.slice(at);
}

function treeOf(text: string): Node | undefined {
  try {
    return parseTree(text, [], { allowTrailingComma: true });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ProcmanError(
      "configuration-invalid",
      "Cannot edit the configuration: it has brackets nested too deeply to be read.",
    );
  }
}

function listOf(text: string): List {
  const root = treeOf(text);
  const property = root && memberOf(root, "processes");
  const array = property?.children?.[1];
  if (root === undefined || array?.type !== "array")
    throw new ProcmanError("configuration-invalid", 'Cannot edit the configuration: it has no list of "processes".');
  const hasSpaces = /\s/.test(text.charAt((property?.colonOffset ?? 0) + 1));
  return { elements: array.children ?? [], from: array.offset + 1, to: endOf(array) - 1, root, hasSpaces };
}

function memberOf(node: Node, key: string): Node | undefined {
  return node.type === "object" ? node.children?.findLast((child) => child.children?.[0]?.value === key) : undefined;
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

function appendFirst(text: string, list: List, process: unknown): readonly Splice[] {
  const separators = separatorsOf(text, { start: list.from, end: list.to, last: true });
  const inLines = /[\r\n]/.test(text.slice(list.root.offset, endOf(list.root)));
  const close = indentOf(text, list.from);
  const unit = indentUnit(text, list.root);
  const eol = eolOf(text);
  const indent = close + unit;
  const body = inLines ? severalLines(process, { indent, unit, eol }) : oneLine(process, list.hasSpaces);
  if (separators.tokens.some(({ kind }) => kind === "comment"))
    return [insertion(separators.tail, eol + indent + body)];
  return [insertion(list.to, inLines ? eol + indent + body + eol + close : body)];
}

function appendNext(text: string, list: List & { readonly last: Node }, process: unknown): readonly Splice[] {
  const { last } = list;
  const end = endOf(last);
  const { comma, tail } = separatorsOf(text, { start: end, end: list.to, last: true });
  const after = comma?.end ?? end;
  const at = comma === undefined ? tail : separatorsOf(text, { start: after, end: list.to, last: true }).tail;
  const comments = text.slice(after, at);
  // A comment before the new process on the same line would look like its own.
  const breaks = comma === undefined ? /\/\/|[\r\n]/.test(comments) : comments !== "";
  const indent = indentOf(text, last.offset);
  const eol = eolOf(text);
  const inLines = /[\r\n]/.test(text.slice(last.offset, end));
  const body = inLines
    ? severalLines(process, { indent, unit: indentUnit(text, list.root), eol })
    : oneLine(process, list.hasSpaces);
  const closing = comma === undefined ? "" : ",";
  if (breaks || isFirstOnLine(text, last.offset))
    return [...(comma === undefined ? [insertion(end, ",")] : []), insertion(at, eol + indent + body + closing)];
  const space = list.hasSpaces ? " " : "";
  return [insertion(at, (comma === undefined ? "," : "") + space + body + closing)];
}

function removeElement(text: string, list: List, element: Node): readonly Splice[] {
  const { previous, next, before, after } = separatorsAround(text, list, element);
  const range = linesOf(
    text,
    { from: before.lead, to: after.tail },
    { above: before, first: previous === undefined, last: next === undefined },
  );
  const comma = after.comma ?? before.comma;
  const apart =
    comma !== undefined && (comma.end <= range.from || comma.start >= range.to)
      ? [removal(comma.start, comma.end)]
      : [];
  const left = text.slice(list.from, range.from);
  const right = text.slice(range.to, list.to);
  const collapses =
    list.elements.length === 1 &&
    apart.length === 0 &&
    isFirstOnLine(text, before.lead) &&
    /^\s*$/.test(left) &&
    /^(\r\n|\r|\n)[^\S\r\n]*$/.test(right);
  return [...apart, removal(range.from, collapses ? list.to : range.to)];
}

type Surroundings = {
  readonly previous: Node | undefined;
  readonly next: Node | undefined;
  readonly before: Separators;
  readonly after: Separators;
};

function separatorsAround(text: string, list: List, element: Node): Surroundings {
  const index = list.elements.indexOf(element);
  const previous = list.elements[index - 1];
  const next = list.elements[index + 1];
  const before = separatorsOf(text, {
    start: previous === undefined ? list.from : endOf(previous),
    end: element.offset,
    last: false,
  });
  const after = separatorsOf(text, { start: endOf(element), end: next?.offset ?? list.to, last: next === undefined });
  return { previous, next, before, after };
}

type SourceRange = { readonly from: number; readonly to: number };

/** Extends the range by its line end if it fills whole lines, else by the spaces beside it. */
function linesOf(
  text: string,
  { from, to }: SourceRange,
  { above, first, last }: { readonly above: Separators; readonly first: boolean; readonly last: boolean },
): SourceRange {
  const spacesAfter = leadingSpaces(text.slice(to)).length;
  const endsLine = /[\r\n]/.test(text.charAt(to + spacesAfter));
  if (!isFirstOnLine(text, from)) {
    return first
      ? { from, to: endsLine || last ? to : to + spacesAfter }
      : { from: withoutTrailingSpaces(text.slice(0, from)).length, to };
  }
  const start = lineStart(text, from);
  const lineAbove = start - (text.slice(start - 2, start) === "\r\n" ? 2 : 1);
  if (endsLine) return { from: lineAbove, to };
  // The rest of the line may move up to the line above, but not into a comment there.
  const intoComment = above.tokens.some(({ end, start: from }) => end === lineAbove && text.startsWith("//", from));
  return last && !intoComment ? { from: lineAbove, to } : { from, to: last ? to : to + spacesAfter };
}

function insertion(at: number, text: string): Splice {
  return { from: at, to: at, text };
}

function removal(from: number, to: number): Splice {
  return { from, to, text: "" };
}
