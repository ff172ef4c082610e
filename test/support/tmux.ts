/** A terminal of a given size: a shell in tmux, with keys and screens. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { childrenOf } from "./proc-files.ts";
import { cleanEnvironment } from "./procman-process.ts";

/** Of a wait for a screen, and between two looks. Milliseconds. */
const TIMEOUT_MS = 30_000;
const LOOK_MS = 30;

type TerminalOptions = {
  readonly columns: number;
  readonly rows: number;
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
};

export class TmuxTerminal {
  readonly #socket: string;
  readonly #env: NodeJS.ProcessEnv;

  /** Ends with the test. */
  constructor(context: TestContext, { columns, rows, cwd, env = {} }: TerminalOptions) {
    const folder = mkdtempSync(join(tmpdir(), "procman-tmux-"));
    this.#socket = join(folder, "socket");
    this.#env = cleanEnvironment({ LC_ALL: "C.UTF-8", TMUX: undefined, ...env });
    context.after(() => {
      this.#tmux("kill-server");
      rmSync(folder, { recursive: true, force: true });
    });
    const size = ["-x", String(columns), "-y", String(rows)];
    this.#tmux("-f", "/dev/null", "new-session", "-d", ...size, "-c", cwd, "bash --norc --noprofile");
  }

  /** Lines of the screen, without blanks at their ends. */
  get lines(): readonly string[] {
    return this.#tmux("capture-pane", "-p").replace(/\n$/, "").split("\n");
  }

  /** Whether the alternate screen is on, the cursor is shown, lines are wrapped, the mouse is asked for. */
  get flags(): string {
    return this.#tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag} #{mouse_any_flag}").trim();
  }

  /** The title that a program has set. */
  get title(): string {
    return this.#tmux("display-message", "-p", "#{pane_title}").trim();
  }

  /** Pid of what the shell runs in the foreground. */
  get foreground(): number | undefined {
    return childrenOf(Number(this.#tmux("display-message", "-p", "#{pane_pid}")))[0];
  }

  /** Keys by their names in tmux: `Enter`, `C-c`, `x`. */
  keys(...keys: readonly string[]): void {
    this.#tmux("send-keys", ...keys);
  }

  /** Types a line and Enter. */
  type(line: string): void {
    this.#tmux("send-keys", "-l", line);
    this.keys("Enter");
  }

  /** Pastes a text, marked as pasted where the program asks for that. */
  paste(text: string): void {
    this.#tmux("set-buffer", "--", text);
    this.#tmux("paste-buffer", "-p");
  }

  /** Gives all that is written to the terminal from now on to a command. */
  pipe(command: string): void {
    this.#tmux("pipe-pane", command);
  }

  /** Closes the window, as a user does: its session gets SIGHUP. Nothing can be asked of it after that. */
  close(): void {
    this.#tmux("new-session", "-d");
    this.#tmux("kill-session", "-t", "0");
  }

  resize(columns: number, rows: number): void {
    this.#tmux("resize-window", "-x", String(columns), "-y", String(rows));
  }

  /** The screen, once it is so. Looks now and then: each look is a process, and other tests run meanwhile. */
  async until(isSo: (lines: readonly string[]) => boolean): Promise<readonly string[]> {
    let lines = this.lines;
    for (const end = performance.now() + TIMEOUT_MS; !isSo(lines); lines = this.lines) {
      if (performance.now() > end)
        throw new Error(`timed out after ${TIMEOUT_MS} ms waiting for ${isSo}; the screen is:\n${lines.join("\n")}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    return lines;
  }

  /** The screen, once a line matches. */
  see(pattern: RegExp): Promise<readonly string[]> {
    return this.until((lines) => lines.some((line) => pattern.test(line)));
  }

  /** The screen, once the shell waits for a line. */
  prompt(): Promise<readonly string[]> {
    return this.until((lines) => /^bash\S*[$#]$/.test(lines.findLast((line) => line !== "") ?? ""));
  }

  /** What a command prints. */
  async output(command: string): Promise<string> {
    this.type(`clear; ${command}; echo "end-of-""output"`);
    const lines = await this.see(/^end-of-output$/);
    return lines.slice(0, lines.indexOf("end-of-output")).join("\n");
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync("tmux", ["-u", "-S", this.#socket, ...args], { encoding: "utf8", env: this.#env });
  }
}
