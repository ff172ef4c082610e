/** Values of a foreign file: of any type, under any key. What isn't used or has a wrong type becomes a note. */
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { didYouMean } from "../../core/base/suggest.ts";
import { show } from "../../core/config/problems.ts";

/** Takes a note about a field. */
export type TakeNote = (field: string, advice: string) => void;

/** Advice for fields without an equal in procman; an empty text: the field needs nothing. */
export type AdviceTable = Readonly<Record<string, string>>;

/** A value as text; empty for what is none, such as an object. */
export function scalarText(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : "";
}

/** A number, or NaN. */
export function scalarNumber(value: unknown): number {
  const text = scalarText(value);
  return text.trim() === "" ? Number.NaN : Number(text);
}

export class ForeignFields {
  readonly #record: Readonly<Record<string, unknown>>;
  readonly #note: TakeNote;
  readonly #used = new Set<string>();
  /** Stands in front of the names in notes, as `deploy.`. */
  readonly #prefix: string;

  constructor(record: Readonly<Record<string, unknown>>, note: TakeNote, prefix = "") {
    this.#record = record;
    this.#note = note;
    this.#prefix = prefix;
  }

  /** The first of these names that has a value, whatever its type. */
  any(...names: readonly string[]): unknown {
    let found: unknown;
    for (const name of names) {
      this.#used.add(name);
      const value = Object.hasOwn(this.#record, name) ? this.#record[name] : undefined;
      found ??= value ?? undefined;
    }
    return found;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#record, name) && this.#record[name] !== null && this.#record[name] !== undefined;
  }

  /** A text; a number counts as one. */
  text(...names: readonly string[]): string | undefined {
    return this.#typed(names, "a text", (value) =>
      typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined,
    );
  }

  /** A text, and nothing else. */
  command(...names: readonly string[]): string | undefined {
    return this.#typed(names, "a text", (value) =>
      typeof value === "string" && value.trim() !== "" ? value : undefined,
    );
  }

  /** A number, or a text that is one. */
  number(...names: readonly string[]): number | undefined {
    return this.#typed(names, "a number", (value) => {
      const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
      return typeof number === "number" && Number.isFinite(number) ? number : undefined;
    });
  }

  flag(...names: readonly string[]): boolean | undefined {
    return this.#typed(names, "true or false", (value) => {
      if (typeof value === "boolean") return value;
      return typeof value === "string" ? ownMember(FLAGS, value.toLowerCase()) : undefined;
    });
  }

  /** A list of texts; one text counts as a list of one. */
  texts(...names: readonly string[]): readonly string[] | undefined {
    return this.#typed(names, "a text, or a list of them", (value) => {
      const list = Array.isArray(value) ? value : [value];
      return list.every((entry) => typeof entry === "string" || typeof entry === "number")
        ? list.map(String)
        : undefined;
    });
  }

  object(...names: readonly string[]): Readonly<Record<string, unknown>> | undefined {
    return this.#typed(names, "an object", (value) => (isObject(value) ? value : undefined));
  }

  /** Notes something about a field. */
  note(name: string, advice: string): void {
    this.#note(`${this.#prefix}${name}`, advice);
  }

  names(): readonly string[] {
    return Object.keys(this.#record);
  }

  /** Marks names as used. */
  skip(...names: readonly string[]): void {
    for (const name of names) this.#used.add(name);
  }

  /** Notes everything that was not used. `known`: all other names of the format. */
  rest(advice: AdviceTable, manager: string): void {
    for (const name of Object.keys(this.#record)) {
      if (this.#used.has(name) || !this.has(name)) continue;
      if (Object.hasOwn(advice, name)) {
        if (advice[name] !== "") this.#note(`${this.#prefix}${name}`, advice[name] as string);
      } else if (!name.startsWith("x-")) {
        const hint = didYouMean(name, [...Object.keys(advice), ...this.#used]);
        this.#note(
          `${this.#prefix}${name}`,
          `${manager} has no such field, or it is unknown to this import.${hint} See docs/reference/configuration.md`,
        );
      }
    }
  }

  #typed<T>(names: readonly string[], allowed: string, read: (value: unknown) => T | undefined): T | undefined {
    const found = this.any(...names);
    if (found === undefined) return undefined;
    const value = read(found);
    const name = names.find((each) => this.has(each)) ?? names[0];
    if (value === undefined)
      this.#note(`${this.#prefix}${name}`, `is left out: found ${show(found)}, expected ${allowed}`);
    return value;
  }
}

const FLAGS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};
