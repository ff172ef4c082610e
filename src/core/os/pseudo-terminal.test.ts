import assert from "node:assert/strict";
import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import { hasEnded, processStat } from "./process-stat.ts";
import { onTerminal, TERMINAL_VARIABLES, terminalHolder, whyNoTerminals } from "./pseudo-terminal.ts";

class Program {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly pid: number;
  /** What has come from its terminal. */
  text = "";
  readonly #over: Promise<readonly unknown[]>;

  constructor(context: TestContext, ...argv: readonly string[]) {
    const [perl = "", ...args] = onTerminal(argv);
    const env = { ...process.env, ...TERMINAL_VARIABLES, LC_ALL: "xx_XX", ENV: "" };
    this.child = spawn(perl, args, { detached: true, env, stdio: ["pipe", "pipe", "pipe"] });
    const { pid } = this.child;
    assert.ok(pid !== undefined, "perl can't be started");
    this.pid = pid;
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.text += text;
      });
    this.child.stdin.on("error", () => undefined);
    this.#over = once(this.child, "close");
    context.after(() => this.child.kill("SIGKILL"));
  }

  type(text: string): void {
    this.child.stdin.write(text);
  }

  async says(pattern: RegExp): Promise<void> {
    while (!pattern.test(this.text)) await once(this.child.stdout, "data");
  }

  /** Its exit code and signal, once all output has come. */
  async end(): Promise<readonly unknown[]> {
    return this.#over;
  }
}

test("the program is the process that was started, and the leader of a terminal of 80 x 24", async (context) => {
  const script = 'echo $$ $PPID; stty size </dev/tty; test -t 0 && test -t 1 && test -t 2 && echo "$1" $TERM; exit 143';
  const program = new Program(context, "sh", "-c", script, "sh", "a  b '$HOME'");
  assert.deepEqual(await program.end(), [143, null]);
  assert.deepEqual(program.text.split("\r\n"), [
    `${program.pid} ${process.pid}`,
    "24 80",
    "a  b '$HOME' xterm-256color",
    "",
  ]);
});

test("a signal that ends it is the signal of the process", async (context) => {
  const program = new Program(context, "sh", "-c", "kill -TERM $$");
  assert.deepEqual(await program.end(), [null, "SIGTERM"]);
});

test("a program that can't be started ends with the code of a shell, and says why", async (context) => {
  const missing = new Program(context, "/no/program");
  assert.deepEqual(await missing.end(), [127, null]);
  assert.equal(missing.text, "Cannot start /no/program: No such file or directory\r\n");
  const refused = new Program(context, "/etc/passwd");
  assert.deepEqual(await refused.end(), [126, null]);
});

test("all output arrives, also that of a program which ends at once, and of one that it leaves behind", async (context) => {
  const program = new Program(
    context,
    "sh",
    "-c",
    "trap '' HUP; head -c 500000 /dev/zero | tr '\\0' x; (sleep 0.1; echo left) &",
  );
  assert.deepEqual(await program.end(), [0, null]);
  assert.equal(program.text, `${"x".repeat(500_000)}left\r\n`);
});

test("what is typed is echoed, edited and ended as on any terminal; Ctrl-C ends the job in the foreground", async (context) => {
  const program = new Program(context, "sh", "-i");
  await program.says(/[#$] $/);
  program.type("cat\nwrng\u007f\u007f\u007fong\n");
  await program.says(/\r\nwong\r\n/);
  program.type("\u0004");
  await program.says(/wong\r\n[^#$]*[#$] $/);
  program.type("cat\nagain\n");
  // Its answer: it runs in the foreground.
  await program.says(/again\r\nagain\r\n/);
  program.type("\u0003");
  await program.says(/\^C[^#$]*[#$] $/);
  program.type("exit 5\n");
  assert.deepEqual(await program.end(), [5, null]);
});

test("input that the program doesn't read holds up no output", async (context) => {
  const program = new Program(
    context,
    "sh",
    "-c",
    "stty -echo raw; echo begun; read line </dev/null; sleep 0.2; echo over",
  );
  await program.says(/begun/);
  program.type("x".repeat(200_000));
  assert.deepEqual(await program.end(), [0, null]);
  assert.match(program.text, /over/);
});

test("the program gets neither descriptors nor variables of the way; its terminal is held by a process outside of the run", async (context) => {
  const program = new Program(context, "sh", "-c", "ls -1 /proc/self/fd; env; exec sleep 1000");
  await program.says(/^TERM=.*\r$/m);
  const holder = terminalHolder(program.pid) ?? 0;
  assert.ok(holder > 1);
  const { group, session } = processStat(holder) ?? {};
  assert.ok(group !== program.pid && session !== program.pid && group !== holder);
  process.kill(-program.pid, "SIGINT");
  assert.deepEqual(await program.end(), [null, "SIGINT"]);
  const withoutTerminal = execFileSync("ls", ["-1", "/proc/self/fd"], { encoding: "utf8" });
  assert.ok(program.text.startsWith(withoutTerminal.replaceAll("\n", "\r\n")), program.text);
  assert.doesNotMatch(program.text, /PERL_BADLANG/);
});

test("what holds the terminal needs less than 3 MB; it ignores what ends runs, and has none of their variables", async (context) => {
  const program = new Program(context, "sh", "-c", "echo begun; exec cat");
  await program.says(/begun/);
  const holder = terminalHolder(program.pid) ?? 0;
  // 0 would be the group of this test.
  assert.ok(holder > 1);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"] as const) process.kill(holder, signal);
  program.type("line\n");
  await program.says(/line\r\nline/);
  // perl writes its title over the variables.
  assert.match(readFileSync(`/proc/${holder}/environ`, "latin1"), /^(?:PATH=\S+| *)\0$/);
  const ownKb = /^Private_Dirty:\s+(\d+) kB/m.exec(readFileSync(`/proc/${holder}/smaps_rollup`, "latin1"))?.[1];
  assert.ok(Number(ownKb) < 1_000, ownKb);
  process.kill(holder, "SIGKILL");
  assert.deepEqual(await program.end(), [null, "SIGHUP"], "without its terminal, the program is hung up");
  assert.ok(hasEnded(program.pid));
});

test("where no terminal can be had, the reason has the remedy", () => {
  assert.equal(whyNoTerminals(), undefined);
  assert.match(
    whyNoTerminals("linux", (file) => file !== "/usr/bin/perl") ?? "",
    /no \/usr\/bin\/perl.*install perl, or/,
  );
  assert.match(whyNoTerminals("darwin", (file) => file !== "/dev/ptmx") ?? "", /no \/dev\/ptmx; mount devpts, or/);
  assert.match(whyNoTerminals("freebsd") ?? "", /^freebsd has no such terminals; remove "tty"$/);
});
