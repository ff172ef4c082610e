/** `--drain-command`: takes a host out of its load balancer, and puts it back. It runs on this machine. */
import { spawn } from "node:child_process";
import { printable } from "../../core/base/printable.ts";

/** The end of its output, for the message when it fails. Characters. */
const MOST_OUTPUT = 1_000;

export type Drained = { readonly host: string; readonly state: "drain" | "ready"; readonly rollout: string };

/** Resolves with why it has failed, if it has. */
export function runDrainCommand(command: string, { host, state, rollout }: Drained): Promise<string | undefined> {
  const env = { ...process.env, PROCMAN_HOST: host, PROCMAN_HOST_STATE: state, PROCMAN_ROLLOUT: rollout };
  return new Promise((resolve) => {
    let said = "";
    const child = spawn("/bin/sh", ["-c", command], { env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = `${said}${text}`.slice(-MOST_OUTPUT);
      });
    child.once("error", (error) => resolve(`the drain command can't be started: ${error.message}`));
    child.once("close", (code, signal) => {
      const last = printable(said.trim().split("\n").at(-1) ?? "");
      const why = `the drain command (${state}) ended with ${signal ?? `code ${code}`}`;
      resolve(code === 0 ? undefined : last === "" ? why : `${why}: ${last}`);
    });
  });
}
