/** Entry of the command line, except `procman run`, which the bin hands to the keeper. */
import { EXIT, ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import { VERSION } from "../base/version.ts";
import { BUILT_IN, COMMANDS } from "./commands.ts";

void main(process.argv.slice(2)).then(
  (code) => {
    // A command that did its part may have a code of its own.
    process.exitCode ??= code;
  },
  (error: unknown) => {
    process.exitCode = report(error);
  },
);

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === "version" || name === "--version" || name === "-V") return print(VERSION);
  if (name === "help" && rest[0] !== undefined) return runCommand(rest[0], ["--help"]);
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    print(overview());
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  return runCommand(name, rest);
}

async function runCommand(name: string, args: readonly string[]): Promise<number> {
  const row = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (row === undefined)
    throw new ProcmanError(
      "usage",
      `Cannot run "${name}": there is no such command.${didYouMean(name, [...Object.keys(COMMANDS), ...Object.keys(BUILT_IN)])} See "procman help"`,
    );
  const [{ Command, CommanderError }, { define }] = await Promise.all([import("commander"), row.load()]);
  const program = new Command("procman").exitOverride().configureHelp({ showGlobalOptions: false });
  define(program);
  for (const command of program.commands) command.exitOverride().configureOutput({ outputError: () => undefined });
  try {
    await program.parseAsync([name, ...args], { from: "user" });
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT.done;
    throw new ProcmanError("usage", `Cannot run "procman ${name}": ${inOurWords(error.message)}; see "procman help ${name}"`);
  }
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` as part of a sentence. */
function inOurWords(message: string): string {
  return message
    .replace(/^error: /, "")
    .replace(/\s*\n\(Did you mean (.*)\?\)/, " (did you mean $1?)")
    .replace(/[.\s]+$/, "");
}

function overview(): string {
  const rows = [...Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary] as const), ...Object.entries(BUILT_IN)];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    "Usage: procman COMMAND [options]",
    "",
    "Starts, supervises, restarts, stops and logs the processes of one JSON file.",
    "",
    "Commands:",
    ...rows.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`),
    "",
    'See "procman help COMMAND". Start with "procman init", then "procman run".',
  ].join("\n");
}

function print(text: string): number {
  process.stdout.write(`${text}\n`);
  return EXIT.done;
}

/** What a user can act on is one message; a bug shows where it happened. */
function report(error: unknown): number {
  if (error instanceof ProcmanError) {
    process.stderr.write(`procman: ${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(`procman: this is a bug: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.bug;
}
