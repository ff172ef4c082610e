/** What `procman monitor` shows first, what it asks before it acts, and how it ends with procman, in the sizes of usual terminals. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const PROCESSES = [
  { id: "web", cmd: "while :; do echo web says; sleep 1; done", autostart: true, memoryLimit: "500MB" },
  { id: "crash", cmd: "echo last words >&2; exit 3", autostart: true, restart: "never" },
];

type Started = { readonly terminal: TmuxTerminal; readonly folder: string };

/** The monitor in a terminal, with one process in trouble below another one in the file. */
async function started(context: TestContext, columns: number, rows: number): Promise<Started> {
  const { folder } = homeOf(context, PROCESSES);
  await procman(folder, ["run", "--detach"]);
  const terminal = new TmuxTerminal(context, { columns, rows, cwd: folder });
  terminal.type(`${process.execPath} ${BIN} monitor`);
  await terminal.see(/^procman test {2}1 errored {2}1 running/);
  return { terminal, folder };
}

/** Texts may go on in the next line. */
function says(terminal: TmuxTerminal, pattern: RegExp): Promise<readonly string[]> {
  return terminal.until((lines) => pattern.test(lines.join(" ")));
}

/** Runs that each process has had. */
async function runsIn(folder: string): Promise<readonly unknown[]> {
  const { out } = await procman(folder, ["status", "--json"]);
  return (JSON.parse(out) as readonly { readonly run?: number }[]).map(({ run }) => run);
}

// Most of the time they wait.
describe("monitor in usual sizes", { concurrency: true }, () => {
  for (const [columns, rows] of [
    [120, 34],
    [100, 30],
    [80, 24],
    [50, 14],
  ] as const)
    test(`${columns} x ${rows}: trouble is on top with its reason, a shows the log of all, a steady process has no whole bar`, async (context) => {
      if (isMissing(context, "tmux")) return;
      const { terminal } = await started(context, columns, rows);
      const lines = await terminal.until(
        (all) => /^crash +errored .*exited with code 3/.test(all[2] ?? "") && /^q quit/.test(all.at(-1) ?? ""),
      );
      assert.match(lines[3] ?? "", /^web +running/);
      assert.match(lines.at(-1) ?? "", /[^…]$/, "a key is cut off");
      terminal.keys("g");
      await terminal.see(/^1 of 2 · exited with code 3/);
      if (columns >= 100) {
        await terminal.see(/^web .*[▁-▇] +\S/);
        assert.ok(!terminal.lines.some((line) => /^web .*█/.test(line)));
      }
      terminal.keys("a");
      await terminal.see(/^── log of all processes ─/);
      await terminal.see(/^\d\d:\d\d:\d\d web {5}\| web says$/);
      terminal.keys("/", "l", "a", "s", "t", "Space", "w", "Enter");
      await terminal.see(/^\d\d:\d\d:\d\d crash {3}! last words$/);
      terminal.keys("a");
      await terminal.see(/^── log of crash ─/);
      terminal.keys("q");
      await terminal.prompt();
    });

  for (const [columns, rows] of [
    [120, 34],
    [50, 14],
  ] as const)
    test(`${columns} x ${rows}: a command that is typed by mistake changes nothing; Q asks, then stops procman, and the screen says that it has ended`, async (context) => {
      if (isMissing(context, "tmux")) return;
      const { terminal, folder } = await started(context, columns, rows);
      const before = await runsIn(folder);
      terminal.type("clear; procman status");
      terminal.type("docker ps");
      await says(terminal, / Nothing was done\./);
      terminal.keys("Q");
      await says(terminal, / Stop procman "test" and its 1 running process\? \[y\/N\]/);
      terminal.keys("Enter");
      await says(terminal, / Nothing was done\./);
      assert.deepEqual(await runsIn(folder), before);
      terminal.keys("Q", "y");
      await terminal.see(/^procman test .* ?procman has ended$/);
      await says(terminal, / Cannot reach procman: none is running for /);
      terminal.keys("q");
      await terminal.prompt();
      assert.equal((await procman(folder, ["status"])).code, 69);
    });
});
