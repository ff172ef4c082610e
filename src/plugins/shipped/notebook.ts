/** What a plugin must know after a restart: one JSON file in its folder, replaced at one stroke. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export class Notebook<Note> {
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#file = join(folder, `${name}.json`);
  }

  /** undefined: nothing is noted, or nothing that can be read. */
  read(isNote: (value: unknown) => boolean): Note | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return isNote(value) ? (value as Note) : undefined;
    } catch {
      return undefined;
    }
  }

  write(note: Note): void {
    writeFileSync(`${this.#file}.tmp`, JSON.stringify(note), { mode: 0o600 });
    renameSync(`${this.#file}.tmp`, this.#file);
  }
}
