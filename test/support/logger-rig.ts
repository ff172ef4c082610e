/** Test rig: plays the keeper of one logger process, with real FIFOs and real children. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { execFileSync, fork, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  BegunRun,
  CaptureSpec,
  FromLogger,
  HandoverRecord,
  ToLogger,
} from "../../src/core/ipc/logger-protocol.ts";

import { handoverFile } from "../../src/core/ipc/logger-protocol.ts";

const LIMIT_MS = 20_000;

export type Run = {
  readonly key: string;
  readonly out: string;
  readonly err: string;
  readonly held: readonly number[];
};

export class LoggerRig {
  readonly dir = mkdtempSync(join(tmpdir(), "procman-logger-"));
  readonly received: FromLogger[] = [];
  #logger: ChildProcess | undefined;
  readonly #messages = new EventEmitter();
  readonly #children: ChildProcess[] = [];
  readonly #held: number[] = [];

  get logger(): ChildProcess {
    assert.ok(this.#logger);
    return this.#logger;
  }

  /** Starts a logger (again). `console`: where its standard output goes. */
  start(console: "ignore" | "pipe" = "ignore"): ChildProcess {
    const stdio = ["ignore", console, console === "pipe" ? "pipe" : "inherit", "ipc"] as const;
    this.#logger = fork(join(import.meta.dirname, "../../src/core/logger/main.ts"), {
      execArgv: ["--import", "tsx"],
      stdio: [...stdio],
    });
    this.#logger.on("message", (batch) => {
      assert.ok(Array.isArray(batch));
      this.received.push(...batch);
      this.#messages.emit("message");
    });
    this.send({ t: "home", folder: this.dir });
    return this.#logger;
  }

  send(...batch: readonly ToLogger[]): void {
    this.logger.send(batch);
  }

  /** Like the keeper: two FIFOs, and a separate reading end that keeps unread data. */
  run(key: string): Run {
    const [out, err] = [join(this.dir, `${key}.out`), join(this.dir, `${key}.err`)] as const;
    execFileSync("mkfifo", [out, err]);
    const held = [out, err].map((path) => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
    this.#held.push(...held);
    return { key, out, err, held };
  }

  open({ key, out, err }: Run, capture: Partial<CaptureSpec>, former?: "killed" | BegunRun): ToLogger {
    return {
      t: "open",
      key,
      out,
      err,
      capture: this.capture(key, capture),
      ...(former === undefined ? {} : { former }),
    };
  }

  capture(id: string, capture: Partial<CaptureSpec>): CaptureSpec {
    return { id, console: false, decorateFiles: false, ...capture };
  }

  /** A shell script whose output goes to the FIFOs of the run. */
  child(run: Run, script: string): ChildProcess {
    const shell = `exec 1<>"${run.out}" 2<>"${run.err}"; ${script}`;
    // It leads a process group, so that `end` reaches what the shell has started, too.
    const child = spawn("/bin/sh", ["-c", shell], { stdio: ["pipe", "inherit", "inherit"], detached: true });
    this.#children.push(child);
    return child;
  }

  /** Waits for such a message of the logger. */
  async waitFor<T extends FromLogger["t"]>(t: T, key?: string): Promise<Extract<FromLogger, { t: T }>> {
    const isWanted = (message: FromLogger): message is Extract<FromLogger, { t: T }> =>
      message.t === t && (key === undefined || ("key" in message && message.key === key));
    for (;;) {
      const found = this.received.find(isWanted);
      if (found) return found;
      await once(this.#messages, "message", { signal: AbortSignal.timeout(LIMIT_MS) });
    }
  }

  /** Ends the run as the keeper does. */
  async drained(run: Run): Promise<void> {
    this.send({ t: "ended", key: run.key });
    await this.waitFor("drained", run.key);
  }

  async close(): Promise<number | null> {
    const exited = once(this.logger, "exit", { signal: AbortSignal.timeout(LIMIT_MS) });
    this.send({ t: "close" });
    await this.waitFor("closed");
    const [code] = await exited;
    return code;
  }

  /** Asks the logger for its hand-over and waits for it. */
  handOver(): Promise<HandoverRecord> {
    this.logger.kill("SIGUSR1");
    return this.handedOver();
  }

  /** The logger's hand-over, once it has ended. */
  async handedOver(): Promise<HandoverRecord> {
    const { logger } = this;
    const exited =
      logger.exitCode === null ? once(logger, "exit", { signal: AbortSignal.timeout(LIMIT_MS) }) : [logger.exitCode];
    assert.equal((await exited)[0], 0);
    return JSON.parse(read(this.handoverFile)) as HandoverRecord;
  }

  get handoverFile(): string {
    return handoverFile(this.dir, this.logger.pid ?? 0);
  }

  async kill(): Promise<void> {
    if (this.logger.exitCode !== null || this.logger.signalCode !== null) return;
    const exited = once(this.logger, "exit");
    this.logger.kill("SIGKILL");
    await exited;
  }

  end(): void {
    for (const child of this.#children) killGroup(child);
    for (const fd of this.#held) closeSync(fd);
    if (this.#logger?.exitCode === null) this.#logger.kill("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Throws nothing if the group has ended. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
  }
}

/** Polls for a condition that no event reports. */
export async function until(isSo: () => boolean): Promise<void> {
  for (const limit = Date.now() + LIMIT_MS; !isSo(); await new Promise((resolve) => setTimeout(resolve, 2))) {
    assert.ok(Date.now() < limit, "timed out");
  }
}

export function read(file: string): string {
  return readFileSync(file, "utf8");
}

export function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

export function numbers(from: number, to: number): string {
  return Array.from({ length: to - from + 1 }, (_, index) => `${String(from + index).padStart(7, "0")}\n`).join("");
}
