/** `procman dev` on a terminal: colors, the line of states and keys, each key, suspension, and the terminal as it was. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { keeperIn } from "../support/cli.ts";
import { DevProject } from "../support/dev-rig.ts";
import { eventually } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const DEV = `${process.execPath} ${BIN} dev`;
const PROCFILE =
  "web: echo web up; trap 'exit 0' TERM; while :; do sleep 0.05; done\nmail: echo mail up >&2; exec sleep 1000\n";
const FOOTER = /^2 running · r restart {2}i input {2}l lines {2}e errors {2}c clear {2}m monitor {2}q end {2}\? keys$/;

type Opened = { readonly terminal: TmuxTerminal; readonly project: DevProject; readonly before: string };

/** A terminal with a running `dev`, and the settings of the terminal before. */
async function opened(context: TestContext, procfile = PROCFILE): Promise<Opened> {
  const project = new DevProject(context, { Procfile: procfile });
  const terminal = new TmuxTerminal(context, { columns: 100, rows: 40, cwd: project.folder });
  const before = await terminal.output("stty -a");
  terminal.type(`clear; ${DEV}`);
  await terminal.see(FOOTER);
  return { terminal, project, before };
}

async function closed({ terminal, project, before }: Opened): Promise<void> {
  await terminal.prompt();
  assert.equal(keeperIn(project.state), 0);
  assert.equal(await terminal.output("stty -a"), before);
}

describe("dev on a terminal", { concurrency: 4 }, () => {
  test("states and keys below the lines; q ends all in order, and the terminal is as it was", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal } = session;
    const lines = await terminal.see(/^web {5}\| web up$/);
    assert.match(lines.find((line) => line !== "") ?? "", /^procman \| runs Procfile \(web, mail\): /);
    assert.ok(lines.includes("mail    ! mail up"), lines.join("\n"));
    terminal.keys("q");
    await terminal.see(/^procman \| stopping everything; q or Ctrl-C again: at once/);
    await closed(session);
  });

  test("r restarts one process, by the beginning of its name, or all", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal } = session;
    const ups = (name: string, count: number): Promise<unknown> =>
      terminal.until((lines) => lines.filter((line) => line.endsWith(`${name} up`)).length === count);
    terminal.keys("r", "w");
    await terminal.see(/^restart: w▏ \(web mail; Enter alone: all; Esc: nothing\)$/);
    terminal.keys("Enter");
    await ups("web", 2);
    terminal.keys("r", "Enter");
    await ups("web", 3);
    await ups("mail", 2);
    terminal.keys("r", "x", "Enter");
    await terminal.see(/^procman \| there is no process "x"\./);
    terminal.keys("C-c");
    await closed(session);
  });

  test("i types lines into a process, until Escape", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context, "web: while read line; do echo got $line; done\nmail: exec sleep 1000\n");
    const { terminal } = session;
    terminal.keys("i", "w", "Enter");
    await terminal.see(/^web>$/);
    terminal.keys("a", "Space", "q", "Left", "x", "Enter", "b", "Enter");
    await terminal.see(/^web {5}\| got a xq$/);
    const lines = await terminal.see(/^web {5}\| got b$/);
    assert.ok(!lines.some((line) => line.includes("input of")), "requests of dev are not shown");
    terminal.keys("Escape");
    await terminal.see(FOOTER);
    terminal.keys("i", "m", "Enter");
    await terminal.see(/^mail>$/);
    terminal.keys("C-c");
    await terminal.until((lines) => FOOTER.test(lines.findLast((line) => line !== "") ?? ""));
    terminal.keys("q");
    await closed(session);
  });

  test("l shows lines of some processes, e errors alone, c clears, Enter sets a mark, ? says the keys", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal } = session;
    await terminal.see(/mail up$/);
    terminal.keys("l", "w", "e", "b", "Enter");
    await terminal.until(
      (lines) =>
        lines.some((line) => / · only web · r restart/.test(line)) && !lines.some((line) => /^mail/.test(line)),
    );
    terminal.keys("l", "Enter");
    await terminal.see(/^mail {4}! mail up$/);
    terminal.keys("e");
    await terminal.until(
      (lines) => lines.some((line) => / · only errors · /.test(line)) && !lines.some((line) => /^web/.test(line)),
    );
    terminal.keys("e", "c");
    await terminal.until((lines) => FOOTER.test(lines.find((line) => line !== "") ?? ""));
    terminal.keys("Enter", "?");
    const lines = await terminal.see(/^procman \| r restart one or all · /);
    assert.equal(lines[0], "", "a mark");
    terminal.keys("q");
    await closed(session);
  });

  test("m shows the monitor, which has the terminal also after Ctrl-Z and fg; its q comes back to the lines", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal } = session;
    terminal.keys("m");
    await terminal.see(/^ID +STATUS .* WHY$/);
    terminal.keys("C-z");
    await terminal.see(/Stopped/);
    terminal.type("fg");
    await terminal.see(/^ID +STATUS .* WHY$/);
    terminal.keys("?");
    await terminal.see(/quit; the processes keep running/);
    terminal.keys("Escape");
    await terminal.see(/^ID +STATUS .* WHY$/);
    terminal.keys("q");
    await terminal.see(FOOTER);
    terminal.keys("r", "w", "Enter");
    await terminal.until((lines) => lines.filter((line) => line.endsWith("web up")).length === 2);
    terminal.keys("q");
    await closed(session);
  });

  test("Ctrl-Z gives the terminal to the shell, fg takes it again", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal, before } = session;
    terminal.keys("C-z");
    await terminal.see(/Stopped/);
    assert.equal(await terminal.output("stty -a"), before);
    terminal.type("clear; fg");
    await terminal.see(FOOTER);
    terminal.keys("q");
    await closed(session);
  });

  test("letters that are pasted are not taken for keys", async (context) => {
    if (isMissing(context, "tmux")) return;
    const session = await opened(context);
    const { terminal } = session;
    terminal.paste("quiet");
    terminal.keys("?");
    await terminal.see(/^procman \| r restart one or all · /);
    terminal.keys("q");
    await closed(session);
  });

  test("a terminal that is closed ends everything", async (context) => {
    if (isMissing(context, "tmux")) return;
    const { terminal, project } = await opened(context);
    terminal.close();
    await eventually(() => keeperIn(project.state) === 0 || undefined);
  });

  test("a terminal without abilities gets plain lines, and no keys", async (context) => {
    if (isMissing(context, "tmux")) return;
    const project = new DevProject(context, { Procfile: PROCFILE });
    const terminal = new TmuxTerminal(context, { columns: 100, rows: 40, cwd: project.folder });
    terminal.type(`clear; TERM=dumb ${DEV}`);
    await terminal.see(/^mail {4}! mail up$/);
    assert.ok(!terminal.lines.some((line) => FOOTER.test(line)));
    terminal.keys("C-c");
    await terminal.see(/procman \| stopping everything \(SIGINT\); /);
    await terminal.prompt();
  });
});
