/** Asks by a command: code 0 says yes. */
import { spawn } from "node:child_process";
import type { Probe } from "../contract/probe.ts";
import { signalIfThere } from "../os/signal.ts";
import type { Attempt } from "./attempt.ts";

/** Where and as what the command runs. */
export type Scene = {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly argv: (line: string) => readonly string[];
  readonly as?: As;
};

/** Absent: as procman itself. */
export type As = { readonly uid?: number; readonly gid?: number };

/** The last of what it said is told. Characters. */
const SAID_LENGTH = 200;

export function askCommand(scene: Scene): Attempt<Probe & { readonly kind: "exec" }> {
  return ({ line }, over) => {
    const [program = "", ...args] = scene.argv(line);
    const child = spawn(program, args, { cwd: scene.cwd, env: scene.env, ...scene.as, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-SAID_LENGTH);
      });
    child.once("error", (error) => over(`its check can't be executed: ${error.message}`));
    // Not `close`: what it has left in the background may hold the pipes open.
    child.once("exit", (code, signal) => over(code === 0 ? undefined : told(code, signal, said)));
    return () => {
      const { pid = 0 } = child;
      // Whatever it has started ends with it.
      if (pid > 1) signalIfThere(-pid, "SIGKILL");
      child.stdout.destroy();
      child.stderr.destroy();
    };
  };
}

function told(code: number | null, signal: string | null, said: string): string {
  const last = said.trim().split("\n").at(-1)?.trim() ?? "";
  const how = signal === null ? `ends with code ${code}` : `was ended by ${signal}`;
  return `its check ${how}${last === "" ? "" : `: ${last}`}`;
}
