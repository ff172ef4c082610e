// Shared by all programs of this load: a diary of their runs, and a guard that notices a second copy.
import { appendFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

/** Milliseconds since boot: one time scale for all processes, unlike `Date.now()` independent of clock changes. */
export function monotonicMs() {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

export class Instance {
  #diary;

  /** `folder`: of the load. `id`: of the process in the manager. */
  constructor(folder, id) {
    this.id = id;
    /** Unique name of this run: a pid may be reused, so it is combined with the time. */
    this.run = `${process.pid}-${Math.round(monotonicMs()).toString(36)}`;
    this.#diary = join(folder, "diary.jsonl");
    process.on("SIGUSR2", () => this.end(7));
    // With STUBBORN, only SIGKILL ends it.
    process.on("SIGTERM", () => process.env.STUBBORN === undefined && this.end(0, { asked: true }));
    this.note("begin", { managed: process.env.PROCMAN_RUN_ID ?? "" });
    this.#guard(folder);
  }

  /** One write to a file opened for appending: notes of many processes don't mix. */
  note(what, more = {}) {
    appendFileSync(
      this.#diary,
      `${JSON.stringify({ what, id: this.id, run: this.run, pid: process.pid, at: monotonicMs(), ...more })}\n`,
    );
  }

  /** Further members of the note of the end. */
  last = () => ({});

  end(code, more = {}) {
    this.note("end", { code, ...more, ...this.last() });
    process.exit(code);
  }

  /** A socket in Linux's abstract name space: only one process can have the name, and the kernel frees it when the process ends. */
  #guard(folder) {
    const server = createServer();
    server.on("error", (error) => this.note("twice", { error: error.code }));
    server.listen({ path: `\0${folder}/${this.id}` });
    server.unref();
  }
}
