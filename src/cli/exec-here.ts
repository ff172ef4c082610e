/** A command of `procman exec` on this machine: it is a child of this process, and has its terminal. */
import type { ChildProcess } from "node:child_process";
import { getPriority } from "node:os";
import type { Readable } from "node:stream";
import { isatty } from "node:tty";
import type { Client } from "../client/client.ts";
import { printableJson } from "../core/base/printable.ts";
import { type ExecEnd, KeptOutput, recordOf } from "../core/contract/execution.ts";
import { endOfLaunched, startLaunched } from "../core/os/launched-child.ts";
import { processStat } from "../core/os/process-stat.ts";
import { signalCode } from "../core/os/signal-name.ts";

/** What is on the terminal depends on the terminal, not on the process. */
const OF_TERMINAL = ["TERM", "COLORTERM"] as const;
/** The terminal sends them to the command, too. */
const OF_KEYS = ["SIGINT", "SIGQUIT"] as const;
const PASSED = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
/** What a command has left in the background may keep its outputs open: they are read until nothing comes for so long. Milliseconds. */
const QUIET_MS = 500;
/** At most so long, however much it writes. Milliseconds. */
const LEFT_MS = 2_000;
/** Interval at which the connection of ssh is looked at. Milliseconds. */
const CALLER_MS = 500;

export type ExecRequest = { readonly id: string; readonly command: readonly string[]; readonly json: boolean };

/** Sets the exit code. @throws {ProcmanError} those of `launch` */
export async function executeHere(
  client: Pick<Client, "launch">,
  { id, command, json, withCaller }: ExecRequest & { readonly withCaller: boolean },
): Promise<void> {
  const { pid } = process;
  const startTime = processStat(pid)?.startTime ?? "";
  const launch = await client.launch(id, { command, pid, startTime, niceness: getPriority() });
  const begun = performance.now();
  let child: ChildProcess | undefined;
  // Before the command runs: it may be asked to end at once.
  passSignals((signal) => child?.kill(signal));
  child = startLaunched(launch, {
    env: { ...launch.env, ...ofTerminal() },
    stdio: json ? ["inherit", "pipe", "pipe"] : "inherit",
  });
  if (withCaller) endWithCaller();
  const outputs = json ? { stdout: new KeptOutput(), stderr: new KeptOutput() } : undefined;
  const read = [outputs && keep(child.stdout, outputs.stdout), outputs && keep(child.stderr, outputs.stderr)];
  const { problem, ...ending } = await endOfLaunched(child, launch);
  if (problem !== undefined) {
    const message = `procman: Cannot execute a command in "${launch.process}": ${problem}\n`;
    if (outputs === undefined) process.stderr.write(message);
    else outputs.stderr.add(Buffer.from(message));
  }
  await Promise.all(read.map((finish) => finish?.()));
  const durationMs = Math.round(performance.now() - begun);
  process.exitCode = exitCodeOf(ending);
  if (outputs === undefined) return;
  const record = recordOf(launch.process, { type: "exited", ...ending, durationMs }, outputs);
  process.stdout.write(`${printableJson(record, 2)}\n`);
}

/** As shells do. */
export function exitCodeOf({ code, signal }: Pick<ExecEnd, "code" | "signal">): number {
  return code ?? signalCode(signal);
}

function ofTerminal(): NodeJS.ProcessEnv {
  if (!isatty(0) && !isatty(1)) return {};
  return Object.fromEntries(
    OF_TERMINAL.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** This process ends after the command. */
function passSignals(pass: (signal: NodeJS.Signals) => void): void {
  for (const signal of PASSED) process.on(signal, () => pass(signal));
  const hasTerminal = [0, 1, 2].some((fd) => isatty(fd));
  for (const signal of OF_KEYS) process.on(signal, () => (hasTerminal ? undefined : pass(signal)));
}

/** ssh gives a command without a terminal no signal when the connection ends: the shell there ends. The service ends the command with this process. */
function endWithCaller(): void {
  const caller = process.ppid;
  setInterval(() => process.ppid !== caller && process.exit(signalCode("SIGHUP")), CALLER_MS).unref();
}

/** Reads an output to its end. The answer is called when the command has ended, and resolves when nothing more comes. */
export function keep(stream: Readable | null, kept: Pick<KeptOutput, "add">): () => Promise<void> {
  let last = performance.now();
  let isOver = stream === null;
  stream?.on("data", (chunk: Buffer) => {
    last = performance.now();
    kept.add(chunk);
  });
  const closed = new Promise<void>((resolve) => {
    stream?.once("close", () => {
      isOver = true;
      resolve();
    });
  });
  return async () => {
    const ended = performance.now();
    last = ended;
    if (isOver) return;
    const timer = setInterval(() => {
      const now = performance.now();
      if (now - last > QUIET_MS || now - ended > LEFT_MS) stream?.destroy();
    }, QUIET_MS / 5);
    await closed;
    clearInterval(timer);
  };
}
