/** `procman attach` of processes with a terminal: docs/guide/input.md. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { homeOf, procman } from "../support/cli.ts";
import { eventually, type ProcessConfig, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const common = { tty: true, autostart: true, restart: "never", minUptimeMs: 50 } as const;
const SHELL: ProcessConfig = {
  id: "shell",
  cmd: "bash --norc --noprofile -i",
  env: { PS1: "inside> " },
  stopSignal: "SIGHUP",
  ...common,
};

async function running(context: TestContext, ...processes: readonly ProcessConfig[]) {
  const home = homeOf(context, processes);
  const { code, err } = await procman(home.folder, ["run", "--detach", "--wait"]);
  assert.equal(code, 0, err);
  return home;
}

/** A window in which the user has attached. */
async function attached(
  context: TestContext,
  { folder: cwd }: { readonly folder: string },
  id: string,
  size: { readonly columns: number; readonly rows: number },
): Promise<TmuxTerminal> {
  const terminal = new TmuxTerminal(context, { ...size, cwd });
  await terminal.prompt();
  terminal.type(`clear; ${process.execPath} ${BIN} attach ${id}`);
  return terminal;
}

/** `unsent`: what was typed for a program that has ended, and may not be taken any more. */
async function leave(terminal: TmuxTerminal, id: string, unsent = ""): Promise<void> {
  terminal.keys("~", ".");
  await terminal.see(new RegExp(`^procman: left ${id}; the process goes on(${unsent})?$`));
  await terminal.prompt();
}

test("an editor fills the window, follows its size, writes its file, and goes on when the user leaves; a kill of the service interrupts nothing", async (context) => {
  if (["tmux", "vim"].some((program) => isMissing(context, program))) return;
  const home = await running(context, { id: "vim", cmd: "vim -u NONE -N text", ...common });
  const terminal = await attached(context, home, "vim", { columns: 90, rows: 28 });
  const isEmpty = (rows: number) => (lines: readonly string[]) => lines.filter((line) => line === "~").length >= rows;
  await terminal.until(isEmpty(24));
  terminal.keys("i", "h", "i", "Escape");
  terminal.type(":w");
  await eventually(() => existsSync(join(home.folder, "text")) || undefined);
  assert.equal(readFileSync(join(home.folder, "text"), "utf8"), "hi\n");
  terminal.resize(60, 20);
  await terminal.until((lines) => lines.length === 20 && isEmpty(16)(lines));
  const { pid } = JSON.parse(readFileSync(join(home.state, "endpoint.json"), "utf8")) as Endpoint;
  process.kill(pid, "SIGKILL");
  await processExit(pid);
  await procman(home.folder, ["status"]);
  terminal.keys("o", "m", "o", "r", "e", "Escape");
  terminal.type(":w");
  await eventually(() => readFileSync(join(home.folder, "text"), "utf8") === "hi\nmore\n" || undefined);
  await leave(terminal, "vim");
  assert.match(terminal.flags, /^0 1 1 0$/, "screen, cursor, lines and mouse are as before");
  const again = await attached(context, home, "vim", { columns: 80, rows: 24 });
  await again.see(/^more$/);
  await leave(again, "vim");
});

test("two windows show the same; the terminal has the size of the one in which something was typed last", async (context) => {
  if (["tmux", "bash"].some((program) => isMissing(context, program))) return;
  const home = await running(context, SHELL);
  const one = await attached(context, home, "shell", { columns: 100, rows: 30 });
  await one.see(/inside>/);
  const other = await attached(context, home, "shell", { columns: 70, rows: 20 });
  await other.see(/inside>/);
  one.type("stty size");
  await one.see(/^30 100$/);
  await other.see(/^30 100$/);
  other.type("stty size");
  await one.see(/^20 70$/);
  one.type("sleep 1000");
  one.keys("C-c");
  one.type("echo code $?");
  await one.see(/^code 130$/);
  await leave(one, "shell");
  other.type("exit 3");
  await other.see(/^procman: shell has ended; Enter ~\. leaves, its next run is shown here$/);
  assert.equal((await procman(home.folder, ["start", "shell"])).code, 0);
  other.type("echo $((40 + 2))");
  await other.see(/^42$/);
  other.keys("Enter");
  await leave(other, "shell");
});

test("a window of 1 x 1, one that is closed, and a program that ends its screen: nobody else is disturbed", async (context) => {
  if (["tmux", "top"].some((program) => isMissing(context, program))) return;
  const home = await running(context, { id: "top", cmd: "top -d 0.3", ...common });
  const small = await attached(context, home, "top", { columns: 80, rows: 24 });
  await small.see(/^ *PID +USER/);
  small.resize(1, 1);
  const closed = await attached(context, home, "top", { columns: 80, rows: 24 });
  await closed.see(/^ *PID +USER/);
  closed.close();
  const last = await attached(context, home, "top", { columns: 80, rows: 24 });
  await last.see(/^ *PID +USER/);
  small.resize(70, 12);
  await small.see(/^ *PID +USER/);
  last.keys("q");
  await last.see(/^procman: top has ended/);
  last.keys("Enter");
  await leave(last, "top", "; 1 byte was not sent");
  assert.match(last.flags, /^0 1 1 0$/);
});
