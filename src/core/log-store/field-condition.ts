/** A condition on a field of a line of JSON, such as `status>=500`. Most lines are refused by their bytes, without parsing them. */
import { ProcmanError } from "../base/errors.ts";
import { endOfBlanks } from "./line-level.ts";
import { type Finder, TextMatcher } from "./text-matcher.ts";

const OPERATORS = ["!=", ">=", "<=", "==", "=", ">", "<"] as const;
type Operator = (typeof OPERATORS)[number];

const [QUOTE, COLON, OPEN_BRACE, OPEN_BRACKET, ZERO, NINE] = [0x22, 0x3a, 0x7b, 0x5b, 0x30, 0x39];
/** Characters that end a number, true, false or null. */
const ENDS: readonly number[] = [...Buffer.from(" ,}]\r\n\t")];
/** As many digits are exact in a number. */
const EXACT_DIGITS = 15;
/** Characters that some programs escape in JSON. */
const ESCAPED = /[^\w .,:;@#$%*()[\]{}!?|~^-]/;
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ["true", true],
  ["false", false],
  ["null", null],
]);

export class FieldCondition {
  /** Finds the end of the name of the field before such a value: each line has it in which the condition holds. */
  readonly key: Finder | undefined;
  /** A text that each such line has: a part of the value. */
  readonly part: TextMatcher | undefined;
  readonly #field: string;
  readonly #operator: Operator;
  readonly #value: string;
  /** NaN: the value is none, or was written in quotes. */
  readonly #number: number;

  /** @throws {ProcmanError} `input-invalid`: the text isn't a condition */
  constructor(text: string) {
    const { field, operator, value } = partsOf(text);
    const quoted = unquoted(value);
    this.#field = field;
    this.#operator = operator;
    this.#value = quoted ?? value;
    this.#number = quoted === undefined ? numberOf(value) : Number.NaN;
    this.key = this.#finderOf(nameEndOf(field));
    this.part = this.#isEquality ? partOf(writtenAs(this.#value, this.#number)) : undefined;
  }

  get #isEquality(): boolean {
    return this.#operator === "=" || this.#operator === "==";
  }

  /** False if no field of this name has such a value in the line from `start` to `end`. Reads the bytes alone. */
  mayHold(bytes: Buffer, start: number, end: number): boolean {
    return this.key === undefined || this.key.find(bytes, start, end) !== -1;
  }

  /** Whether the field of this object has such a value; of an array, one of its elements (with `!=`: all). */
  holds(object: unknown): boolean {
    const values = valuesAt(object, this.#field);
    const fits = (value: unknown): boolean => this.#fits(value);
    return this.#operator === "!=" ? values.length > 0 && values.every(fits) : values.some(fits);
  }

  /** The quote behind the name isn't searched for: JSON has too many. */
  #finderOf(name: string): Finder | undefined {
    if (name === "") return undefined;
    const text = new TextMatcher(name);
    const { length } = text;
    const find = (bytes: Buffer, from: number, to: number): number => {
      for (let hit = text.find(bytes, from, to); hit !== -1; hit = text.find(bytes, hit + length, to)) {
        if (bytes[hit + length] !== QUOTE) continue;
        const colon = endOfBlanks(bytes, hit + length + 1, to);
        if (bytes[colon] === COLON && this.#mayFit(bytes, endOfBlanks(bytes, colon + 1, to), to)) return hit;
      }
      return -1;
    };
    return { length, find, isIn: (bytes) => text.isIn(bytes) };
  }

  #mayFit(bytes: Buffer, start: number, end: number): boolean {
    const first = bytes[start];
    if (first === OPEN_BRACKET) return true;
    if (first === OPEN_BRACE) return this.#fits({});
    if (first === QUOTE) {
      const close = bytes.indexOf(QUOTE, start + 1);
      const text = bytes.toString("utf8", start + 1, close === -1 ? end : Math.min(close, end));
      return text.includes("\\") || this.#fits(text);
    }
    let number = 0;
    let at = start;
    for (; at < end; at += 1) {
      const byte = bytes[at] as number;
      if (byte < ZERO || byte > NINE) break;
      number = number * 10 + byte - ZERO;
    }
    const isExact = at > start && at - start <= EXACT_DIGITS && (at === end || ENDS.includes(bytes[at] as number));
    return isExact ? this.#fits(number) : this.#mayFitLiteral(bytes, start, end);
  }

  #mayFitLiteral(bytes: Buffer, start: number, end: number): boolean {
    let at = start;
    while (at < end && !ENDS.includes(bytes[at] as number)) at += 1;
    const literal = bytes.toString("latin1", start, at);
    // Long ids differ in digits that a number doesn't have.
    if (this.#isEquality && literal.length > EXACT_DIGITS && /^-?\d+$/.test(literal)) return literal === this.#value;
    const word = WORDS.get(literal);
    return this.#fits(word === undefined ? Number(literal) : word);
  }

  #fits(value: unknown): boolean {
    const order = this.#orderOf(value);
    switch (this.#operator) {
      case "!=":
        return order !== 0;
      case ">":
        return order > 0;
      case ">=":
        return order >= 0;
      case "<":
        return order < 0;
      case "<=":
        return order <= 0;
      default:
        return order === 0;
    }
  }

  /** Below 0: the value is less than that of the condition; NaN: they can't be compared. Numbers in texts are numbers. */
  #orderOf(value: unknown): number {
    if (typeof value === "object" && value !== null) return Number.NaN;
    const text = String(value);
    if (text === this.#value) return 0;
    if (!Number.isNaN(this.#number)) {
      const number = typeof value === "string" ? numberOf(value) : value;
      return typeof number === "number" ? number - this.#number : Number.NaN;
    }
    if (typeof value !== "string") return Number.NaN;
    return text < this.#value ? -1 : 1;
  }
}

function partsOf(text: string): { readonly field: string; readonly operator: Operator; readonly value: string } {
  const at = text.search(/[=!<>]/);
  const operator = at === -1 ? undefined : OPERATORS.find((each) => text.startsWith(each, at));
  const field = text.slice(0, Math.max(0, at)).trim();
  const value = text.slice(at + (operator?.length ?? 0)).trim();
  const isOrder = operator !== undefined && /^[<>]/.test(operator);
  if (operator !== undefined && field !== "" && !(isOrder && value === "")) return { field, operator, value };
  throw new ProcmanError(
    "input-invalid",
    `Cannot filter by ${JSON.stringify(text)}: write a field, one of = != > >= < <=, and a value, such as status>=500 or req.id=7`,
  );
}

/** The text that a JSON string means; undefined: it is none. */
function unquoted(value: string): string | undefined {
  if (!value.startsWith('"')) return undefined;
  try {
    return String(JSON.parse(value));
  } catch {
    return undefined;
  }
}

/** NaN: it is none, or too large for one. */
function numberOf(text: string): number {
  const number = DECIMAL.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(number) ? number : Number.NaN;
}

/** How programs write the value; "": in several ways. */
function writtenAs(value: string, number: number): string {
  if (Number.isNaN(number) || (Number.isInteger(number) && !Number.isSafeInteger(number))) return value;
  const text = String(number);
  return text.includes("e") ? "" : text;
}

function partOf(text: string): TextMatcher | undefined {
  const longest = text.split(ESCAPED).reduce((best, run) => (run.length > best.length ? run : best));
  return longest === "" ? undefined : new TextMatcher(longest);
}

/** The end of the name of the field, as each program writes it; "": there is none, as with an element of an array. */
function nameEndOf(field: string): string {
  const name = field.slice(field.lastIndexOf(".") + 1);
  return /^\d+$/.test(name) ? "" : (name.split(ESCAPED).at(-1) ?? "");
}

/** The values of a field, by each way to read its dots: as a path, or as parts of names. */
function valuesAt(object: unknown, field: string): readonly unknown[] {
  if (typeof object !== "object" || object === null) return [];
  if (Array.isArray(object) && !/^\d/.test(field)) return [];
  const members = object as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, field)) {
    const value = members[field];
    return Array.isArray(value) ? value : [value];
  }
  for (let dot = field.indexOf("."); dot !== -1; dot = field.indexOf(".", dot + 1)) {
    const head = field.slice(0, dot);
    const found = Object.hasOwn(members, head) ? valuesAt(members[head], field.slice(dot + 1)) : [];
    if (found.length > 0) return found;
  }
  return [];
}
