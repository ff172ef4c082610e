/** Loaded by the bin for every command except `run`: prints version and overview itself, loads `main.ts` through its code cache for the others. */
import { join } from "node:path";
import { EXIT } from "../core/base/errors.ts";
import { VERSION } from "../core/base/version.ts";
import { asCalled, callerIn } from "../core/os/called-as.ts";
import { runCached } from "../core/os/code-cache.ts";
import { overview } from "./overview.ts";

/** Their output is data, or that of programs. */
const DATA_COMMANDS = new Set([
  "exec",
  "logs",
  "monitor",
  "show",
  "schema",
  "completion",
  "token",
  "export",
  "mcp",
  "dev",
  "__complete",
  "__configuration",
]);

/** Commands in separate bundles. */
const OWN_BUNDLES: readonly string[] = ["mcp", "dev"];

exitOnOutputError();
const [name, topic] = process.argv.slice(2);
// Without need a stream isn't touched: it takes a millisecond to be made.
if (callerIn(process.env) !== undefined) {
  nameAsCalled(process.stderr);
  if (!DATA_COMMANDS.has(name ?? "") && !process.argv.some((arg) => arg === "--json" || arg === "--stdout"))
    nameAsCalled(process.stdout);
}
if (name === "version" || name === "--version" || name === "-V" || name === "-v")
  process.stdout.write(
    topic === "--json" ? `${JSON.stringify({ version: VERSION, node: process.versions.node })}\n` : `${VERSION}\n`,
  );
else if (
  name === undefined ||
  name === "--help" ||
  name === "-h" ||
  (name === "help" && (topic === undefined || topic === "help" || topic === "version"))
) {
  process.stdout.write(`${overview()}\n`);
  process.exitCode = name === undefined ? EXIT.usage : EXIT.done;
} else runCached(join(__dirname, isOwnBundle(name, process.argv) ? `${name}-main.cjs` : "cli-main.cjs"), "exit");

/** Whether it needs no other command: for its help, and to run on another machine, it does. */
function isOwnBundle(command: string, words: readonly string[]): boolean {
  return OWN_BUNDLES.includes(command) && !words.some((word) => /^(?:-h|--help|--host(?:=.*)?)$/.test(word));
}

/** Messages name commands so that they can be typed. */
function nameAsCalled(stream: NodeJS.WriteStream): void {
  const write = stream.write.bind(stream) as (chunk: unknown, ...rest: unknown[]) => boolean;
  stream.write = (chunk: unknown, ...rest: unknown[]) =>
    write(typeof chunk === "string" ? asCalled(chunk) : chunk, ...rest);
}

/** Ends the command when its output can't be written. */
function exitOnOutputError(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    // The reader, such as `head`, has closed the pipe.
    if (error.code === "EPIPE") process.exit(EXIT.done);
    process.stderr.write(`procman: Cannot write to standard output: ${error.message}\n`);
    process.exit(EXIT.refused);
  });
}
