/** An ecosystem file of pm2 is a program: it runs in its own process, with limits on time and output. */
import { type ChildProcess, spawn } from "node:child_process";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableLine } from "../../core/base/printable.ts";
import { RunMarkers } from "../../core/base/run-marker.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { signalIfThere } from "../../core/os/process-signal.ts";
import { markedProcesses } from "../../core/os/process-tree.ts";
import { randomHex } from "../../core/os/random-key.ts";
import type { ForeignFile } from "./source-file.ts";

/** `timeoutMs`: milliseconds. */
export type ProgramLimits = { readonly timeoutMs: number; readonly bytes: number };

const PROGRAM_LIMITS: ProgramLimits = { timeoutMs: 10_000, bytes: 16 * 1024 ** 2 };

const LOOK_MS = 5;
const EMPTY_LOOKS = 2;
const MOST_LOOKS = 200;

/** Imports the file and writes what it exports, or its error, to descriptor 3. */
const RUNNER = `
const { writeSync } = require("node:fs");
const say = (answer) => {
  const bytes = Buffer.from(JSON.stringify(answer));
  for (let at = 0; at < bytes.length; ) at += writeSync(3, bytes, at);
  process.exit(0);
};
const fail = (error) => say({ error: String(error?.message ?? error), stack: String(error?.stack ?? "") });
process.on("uncaughtException", fail);
// With a blank, because the bundle of the commands must not import dynamically (tsdown.config.ts).
import (process.argv[1]).then(async (exported) => {
  const given = "default" in exported ? exported.default : exported;
  say({ data: await (typeof given === "function" ? given() : given) });
}).catch(fail);
`;

/**
 * What the program exports, as JSON would have it: without functions.
 *
 * @throws {ProcmanError} `configuration-invalid`: it throws, ends early, doesn't end in time, or exports too much
 */
export async function exportedBy(
  { file, shownAs }: ForeignFile,
  { timeoutMs, bytes }: ProgramLimits = PROGRAM_LIMITS,
): Promise<unknown> {
  const markers = new RunMarkers(file, randomHex(16), "PROCMAN_PLUGIN_ID");
  const child = spawn(process.execPath, ["-e", RUNNER, pathToFileURL(file).href], {
    detached: true,
    env: { ...process.env, PROCMAN_PLUGIN_ID: markers.of("import", 0) },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const refuse = (why: string): ProcmanError =>
    new ProcmanError("configuration-invalid", `Cannot import ${shownAs}: ${why}`);
  const { text, problem } = await answerOf(child, { timeoutMs, bytes });
  await endMarked(markers);
  if (problem !== undefined) throw refuse(problem);
  const answer = answerIn(text);
  if (answer === undefined)
    throw refuse("it writes to descriptor 3, by which procman gets the apps; leave that one alone");
  if (answer.error !== undefined)
    throw refuse(`it fails with ${JSON.stringify(printableLine(answer.error))}${placeIn(answer.stack ?? "", file)}`);
  if (answer.data === undefined) throw refuse("it exports nothing; expected module.exports = { apps: [ … ] }");
  return answer.data;
}

type RunnerAnswer = { readonly data?: unknown; readonly error?: string; readonly stack?: string };

function answerIn(text: string): RunnerAnswer | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    return isObject(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

type ProgramAnswer = { readonly text: string; readonly problem?: string };

function answerOf(child: ChildProcess, { timeoutMs, bytes }: ProgramLimits): Promise<ProgramAnswer> {
  const chunks: Buffer[] = [];
  let size = 0;
  let problem: string | undefined;
  const stop = (why: string): void => {
    problem ??= why;
    endGroup(child);
  };
  const timer = setTimeout(
    () => stop(`it has not ended after ${timeoutMs / 1_000} s; export the apps without waiting for anything`),
    timeoutMs,
  );
  child.stdio[3]?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > bytes) stop(`it exports more than ${Math.round(bytes / 1024)} kB`);
    else chunks.push(chunk);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      clearTimeout(timer);
      endGroup(child);
      const text = Buffer.concat(chunks).toString();
      if (problem === undefined && text === "")
        problem = `it ended ${signal === null ? `with code ${code}` : `by ${signal}`} before it exported anything`;
      resolve({ text, ...(problem !== undefined && { problem }) });
    });
  });
}

/** What has left the group. A process that has just been made may not be in the first look. */
async function endMarked(markers: RunMarkers): Promise<void> {
  for (let [looks, empty] = [0, 0]; looks < MOST_LOOKS && empty < EMPTY_LOOKS; looks += 1) {
    const found = markedProcesses(
      markers,
      () => undefined,
      (pid) => signalIfThere(pid, "SIGKILL"),
    );
    empty = found.length === 0 ? empty + 1 : 0;
    await wait(LOOK_MS);
  }
}

/** With what it has started. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing of it is left.
  }
}

/** ` (at 3:7)`: the first line of the stack that is in the file. */
function placeIn(stack: string, file: string): string {
  for (const name of [pathToFileURL(file).href, file]) {
    const at = stack.indexOf(`${name}:`);
    const [, line, column] = at === -1 ? [] : (/^:(\d+)(?::(\d+))?/.exec(stack.slice(at + name.length)) ?? []);
    if (line !== undefined) return ` at line ${line}${column === undefined ? "" : `, column ${column}`}`;
  }
  return "";
}
