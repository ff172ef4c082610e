/** What a query asks of the text of an entry: parts of it, conditions on its fields, regular expressions; all must hold. */
import type { LogQuery } from "../contract/records.ts";
import { LinearExpression } from "../os/linear-expression.ts";
import { partOfExpression } from "./expression-part.ts";
import { FieldCondition } from "./field-condition.ts";
import { type Finder, TextMatcher } from "./text-matcher.ts";

const OPEN_BRACE = 0x7b;

export class TextFilter {
  /** Finds the entries that may match; undefined: all may. */
  readonly finder: Finder | undefined;
  /** Each match has all of these texts. The longest first: it is the rarest, as a rule. */
  readonly #parts: readonly Finder[];
  readonly #search: TextMatcher | undefined;
  readonly #conditions: readonly FieldCondition[];
  readonly #expressions: readonly LinearExpression[];

  /** @throws {ProcmanError} `input-invalid`: a condition or an expression is wrong */
  constructor({ search = "", where = [], regex = [] }: Pick<LogQuery, "search" | "where" | "regex">) {
    this.#search = search === "" ? undefined : new TextMatcher(search);
    this.#conditions = where.map((text) => new FieldCondition(text));
    this.#expressions = regex.map((source) => new LinearExpression(source));
    const parts = regex.flatMap((source) => partOfExpression(source) ?? []).map((part) => new TextMatcher(part));
    this.#parts = [this.#search, ...this.#conditions.flatMap(({ part, key }) => [part, key]), ...parts]
      .filter((part) => part !== undefined)
      .sort((one, two) => two.length - one.length);
    // A condition looks at the value, too, without the bounds of the line.
    this.finder = this.#conditions.find(({ key }) => key !== undefined)?.key ?? this.#parts[0];
  }

  /** False if no entry of a block can match. */
  mayBeIn(bytes: Buffer): boolean {
    return this.#parts.every((part) => part.isIn(bytes));
  }

  /** Whether the entry from `start` to `end` matches. */
  fits(bytes: Buffer, start: number, end: number): boolean {
    if (this.#search !== undefined && this.#search.find(bytes, start, end) === -1) return false;
    if (!this.#conditions.every((condition) => condition.mayHold(bytes, start, end))) return false;
    if (this.#conditions.length === 0 && this.#expressions.length === 0) return true;
    if (this.#conditions.length > 0 && bytes[start] !== OPEN_BRACE) return false;
    const text = bytes.toString("utf8", start, end);
    return this.#hold(text) && this.#expressions.every((expression) => expression.test(text));
  }

  #hold(text: string): boolean {
    if (this.#conditions.length === 0) return true;
    const object = objectIn(text);
    return this.#conditions.every((condition) => condition.holds(object));
  }
}

function objectIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It only looks like JSON, or was cut.
    return undefined;
  }
}
