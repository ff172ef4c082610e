/** A command of the API: a child of the service, whose output is read as fast as the client takes it. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { ProcmanError } from "../../base/errors.ts";
import {
  type ExecEnd,
  type ExecInput,
  type ExecLaunch,
  type ExecOutput,
  whyNotExecuted,
} from "../../contract/execution.ts";
import { signalIfThere } from "../../os/process-signal.ts";

/** Outputs of a command of which nothing is left that could be found are cut after this time without output. Milliseconds. */
const QUIET_MS = 1_000;
/** Milliseconds until each signal. */
export type StopSteps = Readonly<Partial<Record<"SIGHUP" | "SIGTERM" | "SIGKILL", number>>>;

/** SIGHUP ends shells, which ignore SIGTERM; SIGTERM follows, as to some programs SIGHUP means a reload. */
export function stepsTo(terminateMs: number): StopSteps {
  return { SIGHUP: 0, SIGTERM: 100, SIGKILL: terminateMs };
}

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
    this.#child = start(launch);
    // Without file descriptors there are no streams.
    this.#read("stdout", this.#child.stdout);
    this.#read("stderr", this.#child.stderr);
    // The command may read none of it.
    this.#child.stdin?.on("error", () => undefined);
    if (stdin !== undefined) this.#child.stdin?.end(stdin);
    this.exit = new Promise((resolve) => {
      const end = (how: Pick<ExecEnd, "code" | "signal">): void =>
        resolve({ type: "exited", ...how, durationMs: Math.round(performance.now() - begun) });
      this.#child.once("error", (error) => {
        const { text, code } = whyNotExecuted(launch.argv, error);
        this.#hold({ type: "stderr", data: Buffer.from(`procman: ${text}\n`).toString("base64") });
        end({ code });
      });
      this.#child.once("exit", (code, signal) => end(code === null ? { signal: signal ?? "" } : { code }));
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
      } else if (this.#open === 0) return;
      else
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
    const timers = Object.entries(stepsTo(terminateMs)).map(([signal, ms]) =>
      setTimeout(() => signalIfThere(-pid, signal as keyof StopSteps), ms),
    );
    await this.exit;
    for (const timer of timers) clearTimeout(timer);
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

/** @throws {ProcmanError} `exec-failed` */
function start({ process: id, argv, cwd, env, uid, gid }: ExecLaunch): ChildProcess {
  const [program = "", ...args] = argv;
  const as = { ...(uid !== process.geteuid?.() && { uid }), ...(gid !== process.getegid?.() && { gid }) };
  try {
    return spawn(program, args, { cwd, env, ...as, detached: true, stdio: "pipe" });
  } catch (cause) {
    // Too many or too long arguments.
    throw new ProcmanError("exec-failed", `Cannot execute a command in "${id}": ${(cause as Error).message}`, {
      cause,
    });
  }
}
