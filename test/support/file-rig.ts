/** A log file for tests, its folder, and numbered lines. */
import { EventEmitter } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { gunzipSync } from "node:zlib";
import { FileCompressor } from "../../src/core/logger/file-compressor.ts";
import { LogFile } from "../../src/core/logger/log-file.ts";

export const root = mkdtempSync(join(tmpdir(), "procman-file-"));
after(() => rmSync(root, { recursive: true, force: true }));

export type Problem = readonly [file: string, code: string, message: string];

export function setUp(
  path: string,
  holdMs = 30_000,
): {
  readonly file: LogFile;
  readonly compressor: FileCompressor;
  readonly events: EventEmitter;
  readonly problems: Problem[];
} {
  const events = new EventEmitter();
  const problems: Problem[] = [];
  const compressor = new FileCompressor();
  const report = {
    problem: (...problem: Problem) => {
      problems.push(problem);
      events.emit("problem", ...problem);
    },
    recovered: (...how: readonly [string, number, number]) => events.emit("recovered", ...how),
    caughtUp: () => events.emit("caughtUp"),
  };
  return { file: new LogFile(path, { compressor, holdMs, report }), compressor, events, problems };
}

export function folder(name: string): string {
  const path = join(root, name);
  mkdirSync(path);
  return path;
}

function line(number: number): string {
  return `${String(number).padStart(9, "0")} ${"x".repeat(number % 90)}\n`;
}

export function lines(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => line(from + index)).join("");
}

/** The text of all files, rotated ones first, and the names of those. */
export function collect(path: string): { readonly text: string; readonly rotated: readonly string[] } {
  const dir = join(path, "..");
  const rotated = readdirSync(dir)
    .filter((name) => join(dir, name) !== path)
    .sort();
  const read = (name: string): string => {
    const bytes = readFileSync(join(dir, name));
    return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  };
  return { text: [...rotated.map(read), readFileSync(path, "utf8")].join(""), rotated };
}
