/** The last reload: when it began, who asked for it, and what has become of it. The next service knows it by its note. */
import type { ReloadRecord } from "../../contract/state-record.ts";
import type { NoteStore } from "../recovery/notes.ts";

export class LastReload {
  readonly #notes: Pick<NoteStore, "read" | "write">;
  #record: ReloadRecord | undefined;

  constructor(notes: Pick<NoteStore, "read" | "write">) {
    this.#notes = notes;
  }

  /** undefined: there was none since the start of procman. */
  get record(): ReloadRecord | undefined {
    this.#record ??= this.#notes.read(":last-reload");
    return this.#record;
  }

  begin(why: string): void {
    this.#note({ time: new Date().toISOString(), why, result: "running" });
  }

  /** What wasn't begun as a reload ends as none: changes of the file that a new service finds. */
  end(result: "done" | "rolled-back", problem?: string): void {
    const { record } = this;
    if (record?.result === "running") this.#note({ ...record, result, ...(problem !== undefined && { problem }) });
  }

  #note(record: ReloadRecord): void {
    this.#record = record;
    this.#notes.write(":last-reload", record);
  }
}
