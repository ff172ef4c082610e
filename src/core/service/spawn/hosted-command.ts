/** A command of the API: a child of the service, whose output is read as fast as the client takes it. */
import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { ProcmanError } from "../../base/errors.ts";
import type { ExecEnd, ExecInput, ExecLaunch, ExecOutput } from "../../contract/execution.ts";
import { endOfLaunched, startLaunched } from "../../os/launched-child.ts";
import { stepsTo, stopGroup } from "../../os/process-signal.ts";

/** Outputs of a command of which nothing is left that could be found are cut after this time without output. Milliseconds. */
const QUIET_MS = 1_000;

/** A chunk of output, and how to have the next one read. */
type HeldChunk = { readonly item: ExecOutput; readonly next: () => void };

export class HostedCommand {
  readonly exit: Promise<ExecEnd>;
  readonly #child: ChildProcess;
  /** At most one of each output. */
  readonly #held: HeldChunk[] = [];
  /** Chunks so far. */
  #count = 0;
  #open = 0;
  #wake: () => void = () => undefined;
  #isWriting = false;
  #cutting: NodeJS.Timeout | undefined;

  /** `stdin`: its whole input; absent: it is written later. @throws {ProcmanError} `exec-failed` */
  constructor(launch: ExecLaunch, stdin: string | undefined) {
    const begun = performance.now();
    this.#child = startLaunched(launch, { detached: true, stdio: "pipe" });
    // Without file descriptors there are no streams.
    this.#read("stdout", this.#child.stdout);
    this.#read("stderr", this.#child.stderr);
    // The command may read none of it.
    this.#child.stdin?.on("error", () => undefined);
    if (stdin !== undefined) this.#child.stdin?.end(stdin);
    this.exit = endOfLaunched(this.#child, launch).then(({ problem, ...end }) => {
      if (problem !== undefined)
        this.#hold({ type: "stderr", data: Buffer.from(`procman: ${problem}\n`).toString("base64") });
      return { type: "exited", ...end, durationMs: Math.round(performance.now() - begun) };
    });
  }

  /** Its pid, which is that of its process group; undefined: it wasn't started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** What it writes, to the end of both outputs. */
  async *output(): AsyncGenerator<ExecOutput> {
    for (;;) {
      const chunk = this.#held.shift();
      if (chunk !== undefined) {
        yield chunk.item;
        // The client has taken it.
        chunk.next();
      } else if (this.#open === 0) {
        await this.exit;
        // Why it wasn't started, if it wasn't.
        if (this.#held.length === 0) return;
      } else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }

  /** Resolves when the command has room for more. @throws {ProcmanError} `exec-unknown`, `too-many-requests` */
  async write({ data = "", end = false }: ExecInput, shown: string): Promise<void> {
    if (this.#isWriting)
      throw new ProcmanError(
        "too-many-requests",
        `Cannot write to the command ${shown}: it has not taken the input before; await the answer of that request`,
      );
    this.#isWriting = true;
    try {
      if (data !== "" && !(await this.#takes(Buffer.from(data, "base64"))))
        throw new ProcmanError("exec-unknown", `Cannot write to the command ${shown}: it reads no more input`);
      if (end) this.#child.stdin?.end();
    } finally {
      this.#isWriting = false;
    }
  }

  /** Ends it; what it leaves behind is swept. Resolves with false if it has ended before. */
  async stop(terminateMs: number): Promise<boolean> {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return false;
    await stopGroup(pid, stepsTo(terminateMs), this.exit);
    return true;
  }

  /** Nothing of it is left that could be found. What holds its outputs open all the same isn't waited for. */
  swept(): void {
    let seen = this.#count;
    this.#cutting ??= setInterval(() => {
      if (this.#held.length === 0 && seen === this.#count) this.close();
      seen = this.#count;
    }, QUIET_MS).unref();
  }

  /** Nobody reads or writes any more. */
  close(): void {
    clearInterval(this.#cutting);
    const { stdin, stdout, stderr } = this.#child;
    for (const stream of [stdin, stdout, stderr]) stream?.destroy();
  }

  #takes(chunk: Buffer): Promise<boolean> {
    const { stdin } = this.#child;
    return new Promise((resolve) => {
      // A write that is cut off by the end of the input has no error.
      if (!stdin) resolve(false);
      else stdin.write(chunk, (error) => resolve(!error && !stdin.destroyed));
    });
  }

  #read(type: ExecOutput["type"], stream: Readable | null | undefined): void {
    if (!stream) return;
    this.#open += 1;
    stream.on("data", (chunk: Buffer) => {
      stream.pause();
      this.#hold({ type, data: chunk.toString("base64") }, () => stream.resume());
    });
    // An output that can't be read is at its end.
    stream.on("error", () => undefined);
    stream.once("close", () => {
      this.#open -= 1;
      this.#wake();
    });
  }

  #hold(item: ExecOutput, next: HeldChunk["next"] = () => undefined): void {
    this.#count += 1;
    this.#held.push({ item, next });
    this.#wake();
  }
}
