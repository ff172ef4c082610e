/** Says which lines of an env file are not well-formed: once, however many runs read it, and again when they are others. */
import type { EnvFault } from "../base/env-file.ts";
import { warn } from "./narrator.ts";
import type { Voice } from "./voice.ts";

/** Of something else that was taken for an env file not every line. */
const MOST = 5;

export class EnvFaults {
  readonly #voice: Pick<Voice, "say">;
  /** What was said last, by file. */
  readonly #said = new Map<string, string>();

  constructor(voice: Pick<Voice, "say">) {
    this.#voice = voice;
  }

  /** A run of the slot is about to be started with it. */
  look(slot: string, file: string, faults: readonly EnvFault[]): void {
    const state = JSON.stringify(faults);
    if (state === (this.#said.get(file) ?? "[]")) return;
    this.#said.set(file, state);
    for (const { line, problem } of faults.slice(0, MOST)) this.#voice.say(slot, warn(`${file}:${line} ${problem}`));
    if (faults.length > MOST) this.#voice.say(slot, warn(`${faults.length - MOST} more lines of ${file} are like that`));
  }
}
