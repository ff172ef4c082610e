/** A shell in which the lines of a block run one after another, as a reader would type them. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, openSync, readFileSync } from "node:fs";
import { eventually, inTime } from "../support/procman-process.ts";

export type Result = { readonly code: number; readonly out: string };

/** A command that stays in the foreground until Ctrl-C. */
type Foreground = { readonly line: string; readonly pid: number; readonly log: string };

/** Time limit of one line. Milliseconds. */
const LINE_MS = 40_000;

const STAYS =
  /\bprocman (.* )?(?:run|dev)(?!.*(--detach|-d\b|--once|--exit-with|--init))\b|\bprocman .*\blogs\b.* -f\b|\bprocman monitor\b|\bcurl .*-N\b/;

/** 3: it answers, and a process doesn't run. Ends, too, when procman has ended. */
const UNTIL_IT_ANSWERS = "until procman status >/dev/null 2>&1 || [ $? = 3 ] || ! kill -0 $!; do sleep 0.1; done";

export class ShellSession {
  readonly #folder: string;
  readonly #shell: ChildProcess;
  readonly #foreground: Foreground[] = [];
  readonly #log: string;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.#folder = folder;
    // Outside of the folder, which a process may watch.
    this.#log = `${folder}.shell`;
    const output = openSync(this.#log, "a");
    // Job control: each line in the background is a process group, as in a terminal.
    this.#shell = spawn("bash", ["--norc"], { cwd: folder, env: { ...env, PS1: "" }, stdio: ["pipe", output, output] });
    this.#type("set -m");
  }

  /** Runs a line to its end; or, if it stays in the foreground, until `end`. */
  run(line: string): Promise<Result> {
    return STAYS.test(withoutComment(line)) ? this.#stay(line) : this.#complete(line);
  }

  /** Ctrl-C to what stays in the foreground, the last one first. @returns the lines that did not end well. */
  async end(): Promise<readonly string[]> {
    if (this.#shell.exitCode !== null) return [];
    const failed: string[] = [];
    for (const { line, pid, log } of this.#foreground.reverse()) {
      const { code } = await this.#complete(`kill -INT -${pid} 2>/dev/null; wait ${pid}`);
      // curl and a follower of the log end by the signal; some examples kill procman.
      if (![0, 130, 137].includes(code)) failed.push(`${line} (${code}):\n${readFileSync(log, "utf8")}`);
    }
    const exit = once(this.#shell, "exit");
    this.#shell.stdin?.end();
    await inTime(exit, { what: "the end of the shell" });
    return failed;
  }

  async #complete(line: string): Promise<Result> {
    const from = this.#text().length;
    const mark = `end of line ${randomUUID()}`;
    this.#type(`{ ${line}\n} </dev/null; code=$?; echo; echo "${mark} $code"`);
    const end = new RegExp(`\n${mark} (\\d+)\n`);
    const what = `the end of "${line}"`;
    const [, code] = await eventually(() => end.exec(this.#text()) ?? undefined, { what, ms: LINE_MS });
    return { code: Number(code), out: this.#text().slice(from).split(`\n${mark}`)[0] ?? "" };
  }

  async #stay(line: string): Promise<Result> {
    const log = `${this.#folder}.foreground.${this.#foreground.length}`;
    const { out } = await this.#complete(`{ ${withoutComment(line)}; } >${log} 2>&1 & echo "pid $!"`);
    const pid = Number(/pid (\d+)/.exec(out)?.[1]);
    this.#foreground.push({ line, pid, log });
    if (/\bprocman (?:.*\b)?(?:run|dev)\b/.test(line)) await this.#complete(UNTIL_IT_ANSWERS);
    else
      await eventually(() => (existsSync(log) && readFileSync(log, "utf8")) || undefined, {
        what: `output of "${line}"`,
      });
    return { code: 0, out: readFileSync(log, "utf8") };
  }

  #type(line: string): void {
    this.#shell.stdin?.write(`${line}\n`);
  }

  #text(): string {
    return readFileSync(this.#log, "utf8");
  }
}

function withoutComment(line: string): string {
  return line.replace(/\s+#.*$/, "");
}
