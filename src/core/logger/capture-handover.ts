/** Hand-over to the next logger: reading stops, everything read is written, and partial lines are stored in a file. */
import { rmSync } from "node:fs";
import { errnoOf, reasonOf } from "../base/errors.ts";
import type { FromLogger, HandoverRecord } from "../ipc/logger-protocol.ts";
import { handoverFile } from "../ipc/logger-protocol.ts";
import { writeWhole } from "../os/careful-files.ts";
import { monotonicMs } from "../os/clock.ts";
import { failpoint } from "../os/failpoint.ts";
import type { Backpressure } from "./backpressure.ts";
import type { ConsoleWriter } from "./console.ts";
import type { LogFiles } from "./log-files.ts";

/** Longest pause of reading because the console, or the reader of a FIFO used as log file, is slow. Milliseconds. */
const PAUSE_MS = 1000;
const CHECK_MS = 10;

export type CaptureHandoverOptions = {
  readonly files: LogFiles;
  readonly console: ConsoleWriter;
  /** Closed during an attempt, so that no stream is read. */
  readonly pause: Backpressure;
  readonly record: () => HandoverRecord;
  readonly send: (message: FromLogger) => void;
  /** Called once the record is stored. This logger must not read another byte. */
  readonly done: () => void;
};

/** Returns the error, or undefined. */
function failure(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}

export class CaptureHandover {
  readonly #options: CaptureHandoverOptions;
  #path: string | undefined;
  #isRequested = false;
  #trying = false;
  /** Whether the delay has been reported. */
  #reported = false;

  constructor(options: CaptureHandoverOptions) {
    this.#options = options;
  }

  /** The folder of the record. An earlier logger with the same pid may have left a file there. */
  set home(folder: string) {
    const path = handoverFile(folder, process.pid);
    this.#path = path;
    // If this fails, `#write` will fail too and report it.
    failure(() => rmSync(path, { force: true }));
  }

  ask(): void {
    if (this.#isRequested) return;
    this.#isRequested = true;
    this.#reported = false;
    void this.tryAgain();
  }

  /** The logger ends in another way. */
  cancel(): void {
    this.#isRequested = false;
    this.#options.pause.set(false);
  }

  /** The logger ends by itself: everything was written, so the next one must not mark missing output. */
  leaveEmpty(): void {
    // If this fails, the next logger adds an unnecessary mark.
    this.#write({ captures: {} });
  }

  /** Called when a file has caught up: completes a requested hand-over if possible. */
  async tryAgain(): Promise<void> {
    if (!this.#isRequested || this.#trying) return;
    const { files, console, pause } = this.#options;
    if (files.stuck) return this.#defer(files.stuck.path);
    this.#trying = true;
    pause.set(true);
    await Promise.all([console.flush(PAUSE_MS), this.#catchUp()]);
    this.#trying = false;
    if (!this.#isRequested) return;
    if (files.behind) this.#defer(files.behind.path);
    else this.#end();
  }

  /** Writes the record atomically. Returns the error, or undefined. */
  #write(record: HandoverRecord): unknown {
    const path = this.#path;
    if (path === undefined) return new Error("the run folder is not known yet");
    return failure(() => writeWhole(path, JSON.stringify(record)));
  }

  async #catchUp(): Promise<void> {
    const { files } = this.#options;
    for (const limit = monotonicMs() + PAUSE_MS; files.behind && monotonicMs() < limit; )
      await new Promise((resolve) => setTimeout(resolve, CHECK_MS));
  }

  /** Resumes reading. `tryAgain` is called when the file has caught up. */
  #defer(path: string): void {
    this.#options.pause.set(false);
    if (this.#reported) return;
    this.#reported = true;
    this.#problem(
      "EAGAIN",
      `Cannot hand over to the next logger yet: lines are waiting for ${path}; it will once they are written`,
    );
  }

  #end(): void {
    failpoint("logger.handing");
    const error = this.#write(this.#options.record());
    failpoint("logger.handed");
    this.#isRequested = false;
    if (error === undefined) return this.#options.done();
    this.#options.pause.set(false);
    this.#problem(errnoOf(error), `Cannot hand over to the next logger: ${reasonOf(error)}; this one continues`);
  }

  #problem(code: string, message: string): void {
    this.#options.send({ t: "problem", file: this.#path ?? "", code, message });
  }
}
