/** Errors of a command on standard error: a message for people or, with `--json`, an object in one line for programs. */
import { EXIT, type ExitCode, ProcmanError } from "../../core/base/errors.ts";
import { printable, printableJson, printableOutput } from "../../core/base/printable.ts";
import { wantsColors } from "../../core/os/colors.ts";

/** Whether the command line has `--json`. What follows `--` belongs to another program. */
export function isJson(words: readonly string[] = process.argv.slice(2)): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? words.length : end).includes("--json");
}

/** Prints the error that ended the command: a message if a user can act on it, a stack trace for a bug. Returns the exit code. */
export function reportError(error: unknown): ExitCode {
  const isBug = !(error instanceof ProcmanError);
  if (isJson()) process.stderr.write(jsonLine(error));
  else if (isBug)
    process.stderr.write(`procman: this is a bug: ${error instanceof Error ? error.stack : String(error)}\n`);
  else process.stderr.write(`procman: ${printableOutput(error.message, wantsColors(process.stderr))}\n`);
  return isBug ? EXIT.bug : error.exitCode;
}

/** Prints the error of one of several processes, a line for each that has failed, and sets the exit code. The command goes on. */
export function reportRefusal(error: ProcmanError): void {
  process.exitCode = error.exitCode;
  if (isJson()) process.stderr.write(jsonLine(error));
  else for (const line of error.message.split("\n")) process.stderr.write(`procman: ${printable(line)}\n`);
}

/** With the members of the API's problem record. */
export function jsonLine(error: unknown): string {
  return `${printableJson({ error: error instanceof ProcmanError ? recordOf(error) : bugOf(error) })}\n`;
}

function recordOf({ code, message, faults, processes, taken }: ProcmanError): object {
  return {
    code,
    message,
    ...(faults.length > 0 && { problems: faults }),
    ...(processes.length > 0 && { processes }),
    ...(taken !== undefined && { taken }),
  };
}

function bugOf(error: unknown): object {
  return { code: "internal", message: `this is a bug: ${error instanceof Error ? error.stack : String(error)}` };
}
