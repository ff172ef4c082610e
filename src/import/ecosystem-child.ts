/** An ecosystem file of pm2 is a program: it runs in a process of its own, with limits on time and output. */
import { type ChildProcess, spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { ProcmanError } from "../base/errors.ts";
import { printableLine } from "../base/printable.ts";
import type { ForeignFile } from "./source-file.ts";

/** `timeoutMs`: milliseconds. */
export type ProgramLimits = { readonly timeoutMs: number; readonly bytes: number };

const PROGRAM_LIMITS: ProgramLimits = { timeoutMs: 10_000, bytes: 16 * 1024 ** 2 };

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
export async function exportedBy({ file, shownAs }: ForeignFile, { timeoutMs, bytes }: ProgramLimits = PROGRAM_LIMITS): Promise<unknown> {
  const child = spawn(process.execPath, ["-e", RUNNER, pathToFileURL(file).href], {
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  });
  const refuse = (why: string): ProcmanError => new ProcmanError("configuration-invalid", `Cannot import ${shownAs}: ${why}`);
  const { text, problem } = await answerOf(child, { timeoutMs, bytes });
  if (problem !== undefined) throw refuse(problem);
  const answer = JSON.parse(text) as { readonly data?: unknown; readonly error?: string; readonly stack?: string };
  if (answer.error !== undefined)
    throw refuse(`it fails with ${JSON.stringify(printableLine(answer.error))}${placeIn(answer.stack ?? "", file)}`);
  if (answer.data === undefined) throw refuse("it exports nothing; expected module.exports = { apps: [ … ] }");
  return answer.data;
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
