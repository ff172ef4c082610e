/** A command that `procman mcp` executes on this machine: without terminal and input, for a limited time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { getPriority } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { endOfLaunched, type LaunchedEnd, startLaunched } from "../core/os/launched-child.ts";
import { stepsTo, stopGroup } from "../core/os/process-signal.ts";
import { processStat } from "../core/os/process-stat.ts";
import type { CommandOrder, EndedCommand, OutputEnd } from "../satellites/mcp/mcp-ports.ts";
import { keep } from "./exec-here.ts";

/** How long the end of a command is waited for that was told to end. Milliseconds. */
const ENDING_MS = 5_000;
/** Chunks of an output that are kept apart. */
const MAX_CHUNKS = 1_000;

/** Resolves when the command has ended, or some seconds after it was told to. @throws {ProcmanError} those of `launch` */
export async function executeCaptured(client: Pick<Client, "launch">, order: CommandOrder): Promise<EndedCommand> {
  const { id, command, maxBytes, signal } = order;
  const owner = await startOwner(id);
  try {
    const { pid, startTime } = owner;
    const launch = await client.launch(id, { command: [...command], pid, startTime, niceness: getPriority() });
    signal.throwIfAborted();
    const begun = performance.now();
    const child = startLaunched(launch, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const outputs = { stdout: new LastBytes(maxBytes), stderr: new LastBytes(maxBytes) };
    const read = [keep(child.stdout, outputs.stdout), keep(child.stderr, outputs.stderr)];
    const ended = endOfLaunched(child, launch);
    const first = await firstOf(ended, order);
    const end = await (first === "ended" ? ended : endAfter(child, ended, launch.terminateMs));
    const durationMs = Math.round(performance.now() - begun);
    // What it has left in the background is ended, and keeps the outputs open no longer.
    owner.end();
    if (end !== undefined) await Promise.all(read.map((finish) => finish()));
    const { problem, ...ending }: LaunchedEnd = end ?? {};
    if (problem !== undefined) outputs.stderr.add(Buffer.from(`procman: ${problem}\n`));
    return {
      process: launch.process,
      ...(end !== undefined && { end: ending }),
      isTimedOut: first === "late",
      durationMs,
      stdout: outputs.stdout.end(),
      stderr: outputs.stderr.end(),
    };
  } finally {
    owner.end();
  }
}

type CommandOwner = { readonly pid: number; readonly startTime: string; readonly end: () => void };

/** A process that stands for the command: when it ends, at the latest with this one, procman's service ends what is left of the command. */
async function startOwner(id: string): Promise<CommandOwner> {
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  try {
    await once(child, "spawn");
  } catch (cause) {
    const why = `"cat" can't be started: ${(cause as Error).message}`;
    throw new ProcmanError("exec-failed", `Cannot execute a command in "${id}": ${why}`, { cause });
  }
  letGo(child);
  const { pid = 0 } = child;
  return { pid, startTime: processStat(pid)?.startTime ?? "", end: () => child.stdin.destroy() };
}

/** This process may end before the child. */
function letGo(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as Socket | null | undefined)?.unref();
}

async function firstOf(
  ended: Promise<unknown>,
  { timeoutMs, signal }: CommandOrder,
): Promise<"ended" | "late" | "cancelled"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => {
    timer = setTimeout(() => resolve("late"), timeoutMs);
  });
  const cancelled = new Promise<"cancelled">((resolve) => {
    signal.addEventListener("abort", () => resolve("cancelled"), { once: true });
  });
  try {
    return await Promise.race([ended.then(() => "ended" as const), late, cancelled]);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells the command to end. undefined: it takes longer. */
function endAfter(
  child: ChildProcess,
  ended: Promise<LaunchedEnd>,
  terminateMs: number,
): Promise<LaunchedEnd | undefined> {
  if (child.pid !== undefined) void stopGroup(child.pid, stepsTo(terminateMs), ended);
  letGo(child);
  return Promise.race([ended, sleep(ENDING_MS, undefined, { ref: false })]);
}

/** Keeps the last bytes of an output. */
class LastBytes {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > 2 * this.#maxBytes || this.#chunks.length > MAX_CHUNKS) this.#shorten();
  }

  end(): OutputEnd {
    const bytes = this.#shorten();
    let from = 0;
    // Not inside of a character.
    while (this.#isCut && ((bytes[from] ?? 0) & 0xc0) === 0x80) from += 1;
    return { text: bytes.toString("utf8", from), isCut: this.#isCut };
  }

  #shorten(): Buffer {
    const last = Buffer.concat(this.#chunks).subarray(-this.#maxBytes);
    this.#isCut ||= last.length < this.#bytes;
    this.#chunks = [last];
    this.#bytes = last.length;
    return last;
  }
}
