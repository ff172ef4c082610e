/** `procman attach`: docs/guide/input.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment, eventually, type ProcessConfig, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

/** Answers each line; `err …` on standard error, `end` with its end. */
const BOT: ProcessConfig = {
  id: "bot",
  cmd: 'n=0; while IFS= read -r line; do n=$((n+1)); case $line in err*) echo "$n:$line" >&2;; end) exit 0;; *) echo "$n:$line";; esac; done',
  stdin: true,
  autostart: true,
  restart: "always",
  minUptimeMs: 50,
};

async function running(context: TestContext, processes: readonly ProcessConfig[]) {
  const home = homeOf(context, processes);
  const { code, err } = await procman(home.folder, ["run", "--detach", "--wait"]);
  assert.equal(code, 0, err);
  return home;
}

/** What is typed at that moment would have no answer. */
async function killService(state: string): Promise<void> {
  const { pid } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  process.kill(pid, "SIGKILL");
  await processExit(pid);
}

/** `procman attach` with pipes. */
class Attached {
  readonly #child;
  readonly code: Promise<number | null>;
  out = "";
  err = "";

  constructor(context: TestContext, folder: string, args: readonly string[]) {
    this.#child = spawn(process.execPath, [BIN, "attach", ...args], {
      cwd: folder,
      env: cleanEnvironment(),
      stdio: ["pipe", "pipe", "pipe"],
    });
    context.after(() => void this.#child.kill("SIGKILL"));
    this.code = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
    });
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.err += text;
    });
    this.#child.stdin.on("error", () => undefined);
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  end(text = ""): void {
    this.#child.stdin.end(text);
  }

  interrupt(): void {
    this.#child.kill("SIGINT");
  }

  wrote(pattern: RegExp): Promise<true> {
    return eventually(() => pattern.test(this.out) || undefined);
  }

  said(pattern: RegExp): Promise<true> {
    return eventually(() => pattern.test(this.err) || undefined);
  }
}

test("without a terminal, lines are sent, the answers come on the same outputs, and the command ends after its input", async (context) => {
  const { folder } = await running(context, [BOT]);
  const first = new Attached(context, folder, ["bot"]);
  first.end("hello\nerr no\n日本語\nwithout end");
  assert.equal(await first.code, 0);
  assert.deepEqual([first.out, first.err], ["1:hello\n3:日本語\n", "2:err no\n"]);
  const second = new Attached(context, folder, ["bot", "-n", "100"]);
  second.end(" of it\n");
  assert.equal(await second.code, 0);
  assert.equal(second.out, "1:hello\n3:日本語\n4:without end of it\n");
  assert.match(second.err, /^procman: started \(pid \d+\)\n[\s\S]*^2:err no\n$/m);
});

test("with --follow it goes on after its input and over a kill of the service, without a lost or repeated line, and says a new run", async (context) => {
  const counter =
    "i=0; while sleep 0.02; do i=$((i+1)); echo line $i; done & while read -r line; do echo got $line; done; kill $!";
  const { folder, state } = await running(context, [{ ...BOT, cmd: counter }]);
  const attached = new Attached(context, folder, ["bot", "--follow", "-n", "1000"]);
  attached.write("one\n");
  await attached.wrote(/^got one$/m);
  await killService(state);
  attached.end("two\n");
  await attached.wrote(/^got two$/m);
  const seen = attached.out.length;
  await eventually(() => /line \d+\n[\s\S]*line \d+\n/.test(attached.out.slice(seen)) || undefined);
  assert.equal((await procman(folder, ["restart", "bot"])).code, 0);
  await attached.said(/^procman: started \(pid \d+\)$[\s\S]*^procman: started \(pid \d+\)$/m);
  const [before = ""] = attached.out.split(/^line 1$/m).slice(1);
  const numbers = [...before.matchAll(/^line (\d+)$/gm)].map(([, number]) => Number(number));
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 2),
  );
  attached.interrupt();
  assert.equal(await attached.code, 0);
});

test("a full pipe is waited for, and said; nothing is lost", async (context) => {
  const cmd = "while [ ! -e go ]; do sleep 0.05; done; head -c 300000 | cksum; exec sleep 1000";
  const { folder } = await running(context, [{ ...BOT, cmd }]);
  const text = Array.from({ length: 30_000 }, (_, number) => `${String(number).padStart(9, "0")}\n`).join("");
  writeFileSync(join(folder, "text"), text);
  const attached = new Attached(context, folder, ["bot", "--follow"]);
  attached.end(text);
  await attached.said(/^procman: bot doesn't read its input; the rest waits until it does$/m);
  writeFileSync(join(folder, "go"), "");
  await attached.wrote(/^\d+ 300000$/m);
  const sum = await procman(folder, ["exec", "bot", "--", "sh", "-c", "cksum < text"]);
  assert.equal(attached.out, sum.out);
});

test("what takes no input is refused with the remedy, before anything is shown", async (context) => {
  const { folder } = await running(context, [
    { id: "web", ...SLEEPER },
    { ...BOT, id: "off", autostart: false },
    { ...BOT, id: "many", cluster: { instances: 2 } },
  ]);
  const records = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  const taking = records.flatMap((record) => record.instances ?? [record]).filter(({ input }) => input === true);
  assert.deepEqual(
    taking.map(({ id }) => id),
    ["off", "many-1", "many-2"],
  );
  for (const [id, remedy] of [
    ["web", /^procman: Cannot send to "web": .*"stdin": true.*\n$/],
    ["off", /^procman: Cannot send to "off": it .*\n$/],
    ["many", /^procman: Cannot send to "many": it is not one process; name one, such as "many-1"\n$/],
    ["wbe", /^procman: Cannot find process "wbe".*Did you mean "web"\?\n$/],
  ] as const) {
    const attached = new Attached(context, folder, [id]);
    assert.equal(await attached.code, 1, attached.err);
    assert.equal(attached.out, "");
    assert.match(attached.err, remedy);
  }
});

/** Whether these are the last ones that aren't empty. */
function endsWith(lines: readonly string[], last: readonly string[]): boolean {
  const end = lines.findLastIndex((line) => line !== "") + 1;
  return lines.slice(end - last.length, end).join("\n") === last.join("\n");
}

/** Waits for a text that a narrow terminal breaks anywhere. */
async function seeWrapped(terminal: TmuxTerminal, text: string): Promise<void> {
  const packed = text.replaceAll(" ", "");
  await terminal.until((lines) => lines.join("").replaceAll(" ", "").includes(packed));
}

function readIfThere(file: string): string | undefined {
  return (existsSync(file) && readFileSync(file, "utf8")) || undefined;
}

const ATTACH = `${process.execPath} ${BIN} attach bot`;

test("on a terminal, output comes in above the line that is typed, also if that is wide and the window narrow", async (context) => {
  if (isMissing(context, "tmux")) return;
  const cmd = `${BOT.cmd} & while sleep 0.05; do [ -e quiet ] || echo tick; done`;
  const { folder } = await running(context, [
    { ...BOT, cmd: `exec 3<&0; ${String(cmd).replace("done &", "done <&3 &")}` },
  ]);
  const terminal = new TmuxTerminal(context, { columns: 30, rows: 16, cwd: folder });
  const before = await terminal.output("stty -a");
  terminal.type(`clear; ${ATTACH}`);
  await terminal.see(/^tick$/);
  terminal.keys("-l", "日本語 one two three four five six 日本語 seven");
  const above = ["tick", "bot> 日本語 one two three four", " five six 日本語 seven"];
  await terminal.until((lines) => lines.filter((line) => line === "tick").length > 5 && endsWith(lines, above));
  writeFileSync(join(folder, "quiet"), "");
  terminal.keys("Enter");
  await seeWrapped(terminal, "1:日本語 one two three four five six 日本語 seven");
  terminal.keys("Up", "C-a", "z", "C-e", "C-w", "Enter");
  await seeWrapped(terminal, "2:z日本語 one two three four five six 日本語");
  terminal.keys("C-c");
  await seeWrapped(terminal, "procman: left bot; the process goes on");
  await terminal.prompt();
  assert.equal(await terminal.output("stty -a"), before);
});

test("on a terminal, a paste is sent line by line and as it is; escapes are typed; ~. and Ctrl-D leave", async (context) => {
  if (isMissing(context, "tmux")) return;
  const { folder } = await running(context, [BOT]);
  const terminal = new TmuxTerminal(context, { columns: 100, rows: 30, cwd: folder });
  terminal.type(ATTACH);
  await terminal.see(/^procman: attached to bot; Ctrl-C or ~\. leaves, ~\? shows more$/);
  await terminal.see(/^bot>$/);
  terminal.paste("a\n~.\n\n  b\n");
  for (const answer of [/^1:a$/, /^2:~\.$/, /^3:$/, /^4: {2}b$/]) await terminal.see(answer);
  terminal.type("~~home");
  await terminal.see(/^5:~home$/);
  terminal.type("~user");
  await terminal.see(/^6:~user$/);
  terminal.type("~c");
  terminal.type("c");
  await terminal.see(/^7:\\x03c$/);
  terminal.type("~?");
  await terminal.see(/^~~ +a tilde at the beginning of a line$/);
  terminal.keys("~", ".");
  await terminal.see(/^procman: left bot; the process goes on$/);
  await terminal.prompt();
  terminal.type(`clear; ${ATTACH}`);
  await terminal.see(/^7:\\x03c$/);
  await terminal.see(/^bot>$/);
  terminal.keys("C-d");
  await terminal.see(/^procman: left bot; the process goes on$/);
  await terminal.prompt();
  const before = await terminal.output("stty -a");
  terminal.type(`clear; ${ATTACH}; echo "ended with" $?`);
  await terminal.see(/^bot>$/);
  process.kill(terminal.foreground ?? assert.fail("nothing runs in the terminal"), "SIGTERM");
  await terminal.see(/^ended with 143$/);
  assert.equal(await terminal.output("stty -a"), before);
});

test("a terminal that is closed ends the command by SIGHUP; the process goes on", async (context) => {
  if (isMissing(context, "tmux")) return;
  const { folder } = await running(context, [BOT]);
  const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
  terminal.type(`(trap : HUP; ${ATTACH}; echo $? > code)`);
  await terminal.see(/^bot>$/);
  terminal.close();
  assert.equal(await eventually(() => readIfThere(join(folder, "code"))), "129\n");
  assert.equal((await procman(folder, ["send", "bot", "hello"])).code, 0);
});

test("on a terminal, it goes on over a restart of the process and a kill of the service, and ends with procman", async (context) => {
  if (isMissing(context, "tmux")) return;
  const { folder, state } = await running(context, [BOT]);
  const terminal = new TmuxTerminal(context, { columns: 100, rows: 30, cwd: folder });
  terminal.type(ATTACH);
  await terminal.see(/^bot>$/);
  terminal.type("end");
  await terminal.see(/^procman: exited with code 0/);
  await terminal.until((lines) => lines.filter((line) => /^procman: started \(pid \d+\)$/.test(line)).length === 2);
  await killService(state);
  terminal.type("still there");
  await terminal.see(/^1:still there$/);
  assert.equal((await procman(folder, ["stop", "bot"])).code, 0);
  terminal.type("nobody");
  await terminal.see(/^procman: Cannot send to "bot": it was stopped/);
  terminal.keys("C-z");
  await terminal.prompt();
  terminal.type("fg");
  await terminal.see(/^bot>$/);
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  await terminal.see(/^procman: procman is not running; end of log$/);
  assert.equal(existsSync(join(state, "endpoint.json")), false);
});
