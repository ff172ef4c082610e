/** What a plugin must know after a restart: one JSON file in its folder, replaced at one stroke. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Schema } from "../../../base/schema.ts";
import { matches } from "../../../base/schema-check.ts";

export class StateFile<Note> {
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#file = join(folder, `${name}.json`);
  }

  /** undefined: nothing is noted, or nothing that can be read. */
  read(schema: Schema<Note>): Note | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return matches(value, schema) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  write(note: Note): void {
    writeFileSync(`${this.#file}.tmp`, JSON.stringify(note), { mode: 0o600 });
    renameSync(`${this.#file}.tmp`, this.#file);
  }
}
