/** Entry of the command line, except `procman run`, which the bin hands to the keeper, and what `boot.ts` answers itself. */
import { Command, CommanderError } from "commander";
import { EXIT, ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import { COMMANDS, isCommand } from "./commands.ts";
import { SUMMARIES } from "./overview.ts";

// Whoever reads has seen enough, as `| head` does.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(EXIT.done);
});

void main(process.argv.slice(2)).then(
  (code) => {
    // A command that did its part may have a code of its own.
    process.exitCode ??= code;
  },
  (error: unknown) => {
    process.exitCode = report(error);
  },
);

async function main([name = "", ...rest]: readonly string[]): Promise<number> {
  if (name === "help") return runCommand(rest[0] ?? "", ["--help"]);
  if (name !== "__complete") return runCommand(name, rest);
  const { complete } = await import("./complete.ts");
  process.stdout.write(await complete(rest));
  return EXIT.done;
}

async function runCommand(name: string, args: readonly string[]): Promise<number> {
  if (!isCommand(name))
    throw new ProcmanError(
      "usage",
      `Cannot run "${name}": there is no such command.${didYouMean(name, Object.keys(SUMMARIES))} See "procman help"`,
    );
  const { define } = await COMMANDS[name]();
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

/** What a user can act on is one message; a bug shows where it happened. */
function report(error: unknown): number {
  if (error instanceof ProcmanError) {
    process.stderr.write(`procman: ${error.message}\n`);
    return error.exitCode;
  }
  process.stderr.write(`procman: this is a bug: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.bug;
}
