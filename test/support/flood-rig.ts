/** A child that prints many numbered lines of all kinds to both streams, and a check that none is missing or damaged. */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LoggerRig, Run } from "./logger-rig.ts";

/** Characters of two to four bytes, carriage returns, and each 2000th line longer than a pipe holds. */
const line = (number: number): string =>
  `${number} ä€😀 ${number % 2000 === 0 ? "y".repeat(70_000 + number) : "x".repeat(number % 97)}\r\n`;

/** Writes numbered lines to both streams, in pieces that end anywhere, until the file `stop` exists; the last line has no newline. */
const writer = (stop: string): string => `
  const { existsSync, writeSync } = require("node:fs");
  const line = ${line.toString()};
  let last = 0;
  while (!existsSync(${JSON.stringify(stop)})) {
    let text = "";
    for (const end = last + 200; last < end; last += 1) text += line(last);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 4093) for (const fd of [1, 2]) writeSync(fd, bytes.subarray(at, at + 4093));
  }
  for (const fd of [1, 2]) writeSync(fd, "end of " + last);
`;

/** Starts a child that writes until `stop` is called. */
export function flood(rig: LoggerRig, run: Run): { readonly child: ChildProcess; readonly stop: () => void } {
  const [script, stop] = [join(rig.dir, "writer.cjs"), join(rig.dir, "stop")];
  writeFileSync(script, writer(stop));
  return { child: rig.child(run, `exec "${process.execPath}" "${script}"`), stop: () => writeFileSync(stop, "") };
}

/** Checks that all lines of one stream are there once and in order. */
export function inspectFlood(text: string): void {
  const lines = text.split("\n");
  const last = lines.length - 2;
  assert.deepEqual(lines.slice(last), [`end of ${last}`, ""]);
  for (const [number, found] of lines.slice(0, last).entries())
    if (`${found}\n` !== line(number)) assert.fail(`"${found.slice(0, 200)}" instead of line ${number}`);
}
