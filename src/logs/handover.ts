/** The end of this logger in favour of the next one: reading stops, all that was read is written, begun lines are put down in a file. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import type { FromLogger, HandoverRecord } from "../contract/logger-protocol.ts";
import { handoverFile } from "../contract/logger-protocol.ts";
import { failpoint } from "../os/failpoint.ts";
import type { Console } from "./console.ts";
import { errnoOf, reasonOf } from "./errno.ts";
import type { Files } from "./files.ts";
import type { Gate } from "./gate.ts";

/** So long nothing is read because the console, or the reader of a FIFO that is a log file, is slow. */
const PAUSE_MS = 1000;
const LOOK_MS = 10;

export type HandoverOptions = {
  readonly files: Files;
  readonly console: Console;
  /** Closed while this is tried: no stream is read. */
  readonly hold: Gate;
  readonly record: () => HandoverRecord;
  readonly tell: (message: FromLogger) => void;
  /** It is put down. This logger must not read a byte any more. */
  readonly done: () => void;
};

/** Returns why it could not be done. */
function failure(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

export class Handover {
  readonly #options: HandoverOptions;
  #path: string | undefined;
  #wanted = false;
  #trying = false;
  /** That it has to wait has been said. */
  #said = false;

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** The folder for it. An earlier logger that had the same pid may have left a file there. */
  set home(folder: string) {
    const path = handoverFile(folder, process.pid);
    this.#path = path;
    // Where that is impossible, `write` will be, too, and says so.
    failure(() => rmSync(path, { force: true }));
  }

  ask(): void {
    if (this.#wanted) return;
    this.#wanted = true;
    this.#said = false;
    void this.tryAgain();
  }

  /** The logger ends in another way. */
  cancel(): void {
    this.#wanted = false;
    this.#options.hold.set(false);
  }

  /** The logger ends by itself: all was written, the next one has nothing to mark as missing. */
  leaveEmpty(): void {
    // If not, the next one marks too much.
    this.#write({ captures: {} });
  }

  /** A file has caught up: the way may be free now, if a hand-over is wanted. */
  async tryAgain(): Promise<void> {
    if (!this.#wanted || this.#trying) return;
    const { files, console, hold } = this.#options;
    if (files.stuck) return this.#defer(files.stuck.path);
    this.#trying = true;
    hold.set(true);
    await Promise.all([console.flush(PAUSE_MS), this.#catchUp()]);
    this.#trying = false;
    if (!this.#wanted) return;
    if (files.behind) this.#defer(files.behind.path);
    else this.#end();
  }

  /** Leaves the record behind, whole or not at all. Returns why it could not. */
  #write(record: HandoverRecord): unknown {
    const path = this.#path;
    if (path === undefined) return new Error("the run folder is not known yet");
    const whole = `${path}.tmp`;
    const error = failure(() => {
      writeFileSync(whole, JSON.stringify(record), { mode: 0o600 });
      renameSync(whole, path);
    });
    // Half a file would only take room.
    if (error !== undefined) failure(() => rmSync(whole, { force: true }));
    return error;
  }

  async #catchUp(): Promise<void> {
    const { files } = this.#options;
    for (const limit = Date.now() + PAUSE_MS; files.behind && Date.now() < limit; )
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** Reads on. A file that is behind now catches up some time, and then `tryAgain` is called. */
  #defer(path: string): void {
    this.#options.hold.set(false);
    if (this.#said) return;
    this.#said = true;
    this.#problem("EAGAIN", `Cannot hand over to the next logger yet: lines wait for ${path}; it will when they are written`);
  }

  #end(): void {
    failpoint("logger.handing");
    const error = this.#write(this.#options.record());
    failpoint("logger.handed");
    this.#wanted = false;
    if (error === undefined) return this.#options.done();
    this.#options.hold.set(false);
    this.#problem(errnoOf(error), `Cannot hand over to the next logger: ${reasonOf(error)}; this one goes on`);
  }

  #problem(code: string, message: string): void {
    this.#options.tell({ t: "problem", file: this.#path ?? "", code, message });
  }
}
