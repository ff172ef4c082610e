/** Data of a program as a document: a copy of what JSON can hold, and the places of all else. */
import { isObject } from "../base/schema-check.ts";
import { type Document, type JsonPath, MAX_DEPTH, type SyntaxFault, showPath, TOO_DEEP } from "./document.ts";
import { show } from "./problems.ts";

/** A configuration of 16 MB has fewer. A few objects that are used again and again can be read as any number. */
const MAX_VALUES = 1_000_000;

/** All places are 0. A member that is `undefined` is left out. Never throws, whatever the data does when it is read. */
export function dataDocument(input: unknown): Document {
  const { data, faults } = new DataCopy(input);
  return {
    data,
    syntax: faults,
    faults: [],
    sources: new Map(),
    place: (path) => ({ file: "", line: 0, column: 0, path }),
  };
}

class DataCopy {
  readonly data: unknown;
  readonly faults: SyntaxFault[] = [];
  /** The objects that the value is in. */
  readonly #above: unknown[] = [];
  #count = 0;

  constructor(input: unknown) {
    this.data = this.#copy(() => input, []);
  }

  /** A getter or a proxy may throw anything when it is read. */
  #copy(read: () => unknown, path: JsonPath): unknown {
    const depth = this.#above.length;
    try {
      const value = read();
      const problem = this.#problemWith(value);
      if (problem !== undefined) return this.#refuse(path, problem);
      if (typeof value !== "object" || value === null) return value;
      this.#above.push(value);
      return Array.isArray(value)
        ? this.#list(value, path)
        : this.#members(value as Readonly<Record<string, unknown>>, path);
    } catch (error) {
      return this.#refuse(
        path,
        `Found a value that can't be read (${error instanceof Error ? error.message : typeof error}); ${ALLOWED}.`,
      );
    } finally {
      this.#above.length = depth;
    }
  }

  #problemWith(value: unknown): string | undefined {
    this.#count += 1;
    if (this.#count > MAX_VALUES) return `Found more than ${MAX_VALUES} values; give fewer.`;
    if (this.#above.includes(value)) return `Found an object that contains itself; ${ALLOWED}.`;
    if (typeof value === "object" && value !== null && this.#above.length === MAX_DEPTH) return TOO_DEEP;
    const kind = kindOf(value);
    return kind === undefined ? undefined : `Found ${kind}; ${ALLOWED}.`;
  }

  #list(list: readonly unknown[], path: JsonPath): unknown {
    const copy: unknown[] = [];
    for (let index = 0; index < list.length && this.#count <= MAX_VALUES; index += 1) {
      const at = [...path, index];
      if (!Object.hasOwn(list, index)) return this.#refuse(at, `Found a list with a gap; ${ALLOWED}.`);
      copy.push(this.#copy(() => list[index], at));
    }
    return copy;
  }

  #members(object: Readonly<Record<string, unknown>>, path: JsonPath): unknown {
    const members = Object.keys(object).map((name) => [name, this.#copy(() => object[name], [...path, name])] as const);
    return Object.fromEntries(members.filter(([, member]) => member !== undefined));
  }

  #refuse(path: JsonPath, message: string): undefined {
    // Of too many values the first is told.
    if (this.#count <= MAX_VALUES + 1)
      this.faults.push({ file: "", line: 0, column: 0, path: showPath(path), message });
  }
}

const ALLOWED = "allowed: what JSON has, plain objects, lists, strings, numbers, true, false and null";

/** What JSON can't hold, as `Map` and `Date`; undefined: it can. Instances of classes count by their members. */
function kindOf(value: unknown): string | undefined {
  if (typeof value === "bigint") return `${value}n, a BigInt`;
  if (typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  if (!isObject(value)) return undefined;
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  return tag === "Object" ? undefined : `${show(tag)}, an object with content that is not in its members`;
}
