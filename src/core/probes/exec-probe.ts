/** Probes by a command: exit code 0 is success. */
import { spawn } from "node:child_process";
import type { Probe } from "../contract/probe-spec.ts";
import { signalIfThere } from "../os/process-signal.ts";
import type { ProbeMethod } from "./probe-method.ts";

/** Working directory, environment, shell and user of the command. */
export type ExecContext = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly argv: (line: string) => readonly string[];
  readonly as?: As;
};

/** Absent: procman's own user or group. */
export type As = { readonly uid?: number; readonly gid?: number };

/** Characters of the command's last output that are reported. */
const OUTPUT_LENGTH = 200;

export function askCommand(context: ExecContext): ProbeMethod<Probe & { readonly kind: "exec" }> {
  return ({ line }, done) => {
    const [program = "", ...args] = context.argv(line);
    const child = spawn(program, args, {
      cwd: context.cwd,
      env: context.env,
      ...context.as,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(-OUTPUT_LENGTH);
      });
    child.once("error", (error) => done(`its check can't be executed: ${error.message}`));
    // Not `close`: background processes of the command may keep the pipes open.
    child.once("exit", (code, signal) => done(code === 0 ? undefined : problemOf(code, signal, output)));
    return () => {
      const { pid = 0 } = child;
      // Its process group is killed with it.
      if (pid > 1) signalIfThere(-pid, "SIGKILL");
      child.stdout.destroy();
      child.stderr.destroy();
    };
  };
}

function problemOf(code: number | null, signal: string | null, output: string): string {
  const last = output.trim().split("\n").at(-1)?.trim() ?? "";
  const how = signal === null ? `ends with code ${code}` : `was killed by ${signal}`;
  return `its check ${how}${last === "" ? "" : `: ${last}`}`;
}
