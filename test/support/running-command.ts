/** A command of procman that is under way: what it prints, what it is sent, how it ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cleanEnvironment, inTime } from "./procman-process.ts";
import { BIN } from "./product.ts";

/** Runs the command behind it on a pseudo-terminal. */
export const TERMINAL = [
  "python3",
  "-c",
  "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))",
];

export class RunningCommand {
  readonly child: ChildProcess;
  out = "";
  readonly #waiting = new Set<() => void>();

  constructor(folder: string, args: readonly string[], launcher: readonly string[] = []) {
    const [program = "", ...rest] = [...launcher, process.execPath, BIN, ...args];
    this.child = spawn(program, rest, {
      cwd: folder,
      env: cleanEnvironment({ TERM: "xterm" }),
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.out += text;
        for (const call of this.#waiting) call();
      });
  }

  shows(pattern: RegExp): Promise<void> {
    const found = new Promise<void>((resolve) => {
      const look = (): void => {
        if (pattern.test(this.out)) resolve();
      };
      this.#waiting.add(look);
      look();
    });
    return inTime(found, { what: `${pattern} in the output of the command` });
  }

  async exitCode(): Promise<number | null> {
    if (this.child.exitCode !== null) return this.child.exitCode;
    const [code] = (await inTime(once(this.child, "close"), { what: "the end of the command" })) as [number | null];
    return code;
  }
}
