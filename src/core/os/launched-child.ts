/** The child that executes a command with the surroundings of a process: of the service, `procman exec` or `procman mcp`. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { ProcmanError } from "../base/errors.ts";
import { type ExecEnd, type ExecLaunch, whyNotExecuted } from "../contract/execution.ts";

/** `options`: what isn't of the launch. @throws {ProcmanError} `exec-failed` */
export function startLaunched(
  { process: id, argv: [program = "", ...args], cwd, env, uid, gid }: ExecLaunch,
  options: SpawnOptions,
): ChildProcess {
  const as = { ...(uid !== process.geteuid?.() && { uid }), ...(gid !== process.getegid?.() && { gid }) };
  try {
    return spawn(program, args, { cwd, env, ...as, ...options });
  } catch (cause) {
    // Too many or too long arguments.
    throw new ProcmanError("exec-failed", `Cannot execute a command in "${id}": ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** `problem`: why it wasn't started. */
export type LaunchedEnd = Pick<ExecEnd, "code" | "signal"> & { readonly problem?: string };

/** How it ends. Never rejects. */
export function endOfLaunched(child: ChildProcess, { argv }: Pick<ExecLaunch, "argv">): Promise<LaunchedEnd> {
  return new Promise((resolve) => {
    child.once("error", (error) => {
      const { text, code } = whyNotExecuted(argv, error);
      resolve({ code, problem: text });
    });
    child.once("exit", (code, signal) => resolve(code === null ? { signal: signal ?? "" } : { code }));
  });
}
