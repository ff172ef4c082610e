/** The program and the arguments by which the command of a process is executed. */
import { existsSync } from "node:fs";
import { parseCommandLine } from "../base/command-line.ts";
import { isTypeScript, typeScriptFlags } from "./checks/command-checks.ts";
import type { ProcessSpec } from "./spec.ts";

const SHELL = "/bin/sh";

export function argvOf({ command }: ProcessSpec): readonly string[] {
  if (command.kind === "shell") return shellArgv(command.line);
  // A missing script: starting it fails with a clear error, while Node would start and exit again and again.
  if (!existsSync(command.script)) return [command.script];
  return [
    process.execPath,
    ...(isTypeScript(command.script) ? (typeScriptFlags() ?? []) : []),
    command.script,
    ...command.args,
  ];
}

/**
 * How a `cmd` is executed: without a shell, or by a shell that becomes the program (in both cases the pid is the
 * program's), or by a shell that stays.
 *
 * @example
 * shellArgv("redis-server --port 7000")   // ["redis-server", "--port", "7000"]
 * shellArgv("cd app && node app.js")      // ["/bin/sh", "-c", "cd app && exec node app.js"]
 * shellArgv("make | tee log")             // ["/bin/sh", "-c", "make | tee log"]
 */
export function shellArgv(line: string): readonly string[] {
  const command = parseCommandLine(line);
  if (command.kind === "words") return command.words;
  return [SHELL, "-c", command.kind === "exec" ? command.line : line];
}
