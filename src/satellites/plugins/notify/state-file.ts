/** Persistent state of a plugin: one JSON file in its folder, replaced atomically. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Schema } from "../../../core/base/schema.ts";
import { matches } from "../../../core/base/schema-check.ts";
import { writeWhole } from "../../../core/os/careful-files.ts";

export class StateFile<State> {
  readonly #file: string;

  constructor(folder: string, name: string) {
    this.#file = join(folder, `${name}.json`);
  }

  /** undefined: there is no file, or it is not valid. */
  read(schema: Schema<State>): State | undefined {
    try {
      const value: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return matches(value, schema) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  write(state: State): void {
    writeWhole(this.#file, JSON.stringify(state));
  }
}
