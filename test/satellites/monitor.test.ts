/** `procman monitor` in terminals of three sizes, and without one. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { loadWidths, widthOf } from "../../src/satellites/monitor/text-clusters.ts";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { cleanEnvironment, eventually, isAlive } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

before(loadWidths);

const LONG = `${"long-".repeat(12)}name`;
/** Clears the screen, leaves it, sets a title, moves the cursor, fills the screen with E, resets the terminal, asks it what it is. */
const HOSTILE = String.raw`printf 'a\033[2J\033[?1049l\033]0;OWNED\007\033[5;5H\033#8\033c\033[c\033[31mred\r\n'`;
const WIDE = "printf '日本語|END\\nabcdef|END\\n👩‍👩‍👧e\u0301xyz|END\\n'";

const PROCESSES = [
  { id: "web", cmd: "exec sleep 1000", autostart: true, cluster: { instances: 2 } },
  { id: "text", cmd: `${HOSTILE}; ${WIDE}; exec sleep 1000`, autostart: true },
  { id: LONG, cmd: "exec sleep 1000", autostart: true },
  { id: "crash", cmd: "echo last words >&2; exit 3", autostart: true, restart: "never" },
];

const MONITOR = `${process.execPath} ${BIN} monitor`;

function killService(state: string): void {
  const { pid } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
  process.kill(pid, "SIGKILL");
}

/** The whole screen: tmux may show a frame whose lower part has not arrived. */
function seeFrame(terminal: TmuxTerminal, title: RegExp): Promise<readonly string[]> {
  return terminal.until((lines) => title.test(lines[0] ?? "") && /^q quit/.test(lines.at(-1) ?? ""));
}

/** The parts of the screen are in their places, and nothing else is on it. */
function checkStructure(lines: readonly string[], columns: number, rows: number): void {
  assert.equal(lines.length, rows);
  assert.match(lines[0] ?? "", / \d\d:\d\d:\d\d$/);
  assert.match(lines[1] ?? "", /^ID +STATUS .* WHY$/);
  assert.match(lines[rows - 1] ?? "", /^q quit {2}\? help/);
  const log = lines.findIndex((line) => line.startsWith("── log of "));
  assert.ok(log > 6 && log < rows - 4, `${log}`);
  assert.equal(widthOf(lines[log] ?? ""), columns);
  for (const line of lines) assert.ok(widthOf(line) <= columns, line);
}

/** Filter, confirmation, refusal, details, search, help. */
async function useKeys(terminal: TmuxTerminal): Promise<void> {
  terminal.keys("f", "w", "e", "b", "Enter");
  await terminal.until(
    (lines) => lines.some((line) => /web-2 +running/.test(line)) && !lines.some((line) => /^crash/.test(line)),
  );
  terminal.keys("g", "x");
  await terminal.see(/^Stop web \(2 instances\)\? \[y\/N\]$/);
  terminal.keys("n");
  await terminal.see(/^Nothing was done\.$/);
  terminal.keys("Down", "s");
  await terminal.see(/^Cannot start "web-1": it is already running$/);
  terminal.keys("Up", "r", "y");
  await terminal.see(/^restart web: running /);
  terminal.keys("Escape");
  await terminal.see(/^crash +errored/);
  terminal.keys("f", "c", "r", "a", "s", "h", "Enter", "Enter");
  await terminal.see(/^ {4}\| last words$/);
  terminal.keys("q");
  await terminal.see(/^\d\d:\d\d:\d\d ! last words$/);
  terminal.keys("/", "w", "o", "r", "d", "s", "Enter");
  await terminal.see(/^── log of crash .* "words": 1 of 1 · following ──$/);
  terminal.keys("?");
  await terminal.see(/^any key: back$/);
  terminal.keys("q", "f", "C-u", "Enter");
  await terminal.see(/^ {2}web-2 +running/);
}

/** A follower of changes without a terminal. */
function follower(
  context: TestContext,
  folder: string,
): { readonly out: () => string; readonly err: () => string; readonly end: Promise<number>; readonly pid: number } {
  const child = spawn(process.execPath, [BIN, "monitor"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(() => void child.kill("SIGKILL"));
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const end = once(child, "close").then(([code]) => Number(code));
  return { out: () => out, err: () => err, end, pid: child.pid ?? 0 };
}

// Most of the time they wait.
describe("monitor", { concurrency: true }, () => {
  for (const [columns, rows] of [
    [80, 24],
    [120, 40],
    [200, 60],
  ] as const)
    test(`${columns} x ${rows}: table and log stay in their places with hostile and wide text, keys, a resize and a killed service`, async (context) => {
      if (isMissing(context, "tmux")) return;
      const { folder, state } = homeOf(context, PROCESSES);
      await procman(folder, ["run", "--detach"]);
      const terminal = new TmuxTerminal(context, { columns, rows, cwd: folder });
      const before = await terminal.output("stty -a");
      const title = terminal.title;
      terminal.type(MONITOR);
      checkStructure(await seeFrame(terminal, /^procman test {2}1 errored/), columns, rows);
      // Below the process in trouble and the cluster.
      terminal.keys("g", "Down", "Down", "Down", "Down");
      const lines = await terminal.until(
        (all) => all.filter((line) => line.includes("|END")).length === 3 && /^q quit/.test(all.at(-1) ?? ""),
      );
      checkStructure(lines, columns, rows);
      assert.ok(
        lines.some((line) =>
          line.endsWith(String.raw`| a\x1b[2J\x1b[?1049l\x1b]0;OWNED\x07\x1b[5;5H\x1b#8\x1bc\x1b[cred`),
        ),
      );
      assert.equal(terminal.title, title);
      // All begin in the same column, and are six columns wide.
      const ends = lines
        .filter((line) => line.includes("|END"))
        .map((line) => widthOf(line.slice(0, line.indexOf("|END"))));
      assert.equal(new Set(ends).size, 1, `${ends}`);
      const status = lines[1]?.indexOf("STATUS") ?? -1;
      const long = lines.find((line) => line.startsWith("long-")) ?? "";
      assert.equal(long.slice(status, status + 8).trim(), "running");
      await useKeys(terminal);
      killService(state);
      await terminal.see(/^Reconnected after \d+\.\d s$/);
      terminal.resize(columns - 20, rows - 2);
      const small = await terminal.until((all) => all.length === rows - 2 && /^q quit/.test(all.at(-1) ?? ""));
      checkStructure(small, columns - 20, rows - 2);
      terminal.resize(columns, rows);
      await terminal.until((all) => all.length === rows && /^q quit/.test(all.at(-1) ?? ""));
      terminal.keys("q");
      await terminal.prompt();
      assert.equal(terminal.flags, "0 1 1 0");
      assert.equal(await terminal.output("stty -a"), before);
    });

  test("the terminal is as it was after every kind of end", async (context) => {
    if (isMissing(context, "tmux")) return;
    const { folder } = homeOf(context, PROCESSES);
    await procman(folder, ["run", "--detach"]);
    writeFileSync(join(folder, "crash.cjs"), 'process.on("SIGUSR2", () => { throw new Error("planted"); });');
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
    const before = await terminal.output("stty -a");
    const ends = [
      { code: 0, end: () => terminal.keys("C-c") },
      { code: 143, end: (pid: number) => process.kill(pid, "SIGTERM") },
      { code: 129, end: (pid: number) => process.kill(pid, "SIGHUP") },
      { code: 130, end: (pid: number) => process.kill(pid, "SIGINT") },
      { code: 1, end: (pid: number) => process.kill(pid, "SIGUSR2"), says: /planted/ },
    ];
    for (const { code, end, says } of ends) {
      terminal.type(`clear; NODE_OPTIONS="--require ./crash.cjs" ${MONITOR} --mouse; echo "ended with" $?`);
      await terminal.see(/^procman test /);
      assert.equal(terminal.flags, "1 0 0 1");
      end(terminal.foreground ?? assert.fail("nothing runs in the terminal"));
      const lines = await terminal.see(/^ended with \d+$/);
      assert.ok(lines.includes(`ended with ${code}`), lines.join("\n"));
      if (says !== undefined) assert.ok(lines.some((line) => says.test(line)));
      assert.equal(terminal.flags, "0 1 1 0");
      assert.equal(await terminal.output("stty -a"), before);
    }
  });

  test("Ctrl-Z gives the terminal back, fg takes it again; so does a SIGTSTP from elsewhere", async (context) => {
    if (isMissing(context, "tmux")) return;
    const { folder } = homeOf(context, PROCESSES);
    await procman(folder, ["run", "--detach"]);
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
    const before = await terminal.output("stty -a");
    terminal.type(`clear; ${MONITOR}`);
    await terminal.see(/^procman test /);
    const pid = terminal.foreground ?? assert.fail("nothing runs in the terminal");
    for (const suspend of [() => terminal.keys("C-z"), () => process.kill(pid, "SIGTSTP")]) {
      suspend();
      await terminal.see(/Stopped/);
      assert.equal(terminal.flags, "0 1 1 0");
      assert.equal(await terminal.output("stty -a"), before);
      terminal.type("fg");
      checkStructure(await seeFrame(terminal, /^procman test /), 80, 24);
      assert.equal(terminal.flags, "1 0 0 0");
      terminal.keys("?");
      await terminal.see(/^any key: back$/);
      terminal.keys("q");
      await terminal.see(/^ID /);
    }
    terminal.keys("q");
    await terminal.prompt();
    assert.equal(terminal.flags, "0 1 1 0");
  });

  test("while the service can't come back, the screen says when it is tried again, and why; then that it is connected again", async (context) => {
    if (isMissing(context, "tmux")) return;
    let keeper = 0;
    // Before it is asked to end: a stopped one wouldn't.
    context.after(() => {
      if (keeper > 0 && isAlive(keeper)) process.kill(keeper, "SIGCONT");
    });
    const { folder, state } = homeOf(context, PROCESSES);
    await procman(folder, ["run", "--detach"]);
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
    terminal.type(MONITOR);
    await terminal.see(/^procman test /);
    keeper = keeperIn(state);
    process.kill(keeper, "SIGSTOP");
    killService(state);
    await terminal.see(/^procman test .* connection lost, reconnecting$/);
    await terminal.see(/^procman test .* connection lost, again in \d s$/);
    await terminal.until((lines) =>
      / Cannot reach procman: its keeper \(pid \d+\) and the processes are running, but/.test(lines.join(" ")),
    );
    terminal.keys("x");
    await terminal.see(/^Cannot act: the connection to procman is lost$/);
    process.kill(keeper, "SIGCONT");
    await terminal.see(/^Reconnected after \d+\.\d s$/);
    terminal.keys("q");
    await terminal.prompt();
  });

  test("i types into the selected process, whose log has the answer; a refusal is shown", async (context) => {
    if (isMissing(context, "tmux")) return;
    const echo = { id: "echo", cmd: "while read -r line; do echo got $line; done", stdin: true, autostart: true };
    const { folder } = homeOf(context, [echo, { id: "deaf", cmd: "exec sleep 1000", autostart: true }]);
    await procman(folder, ["run", "--detach"]);
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
    terminal.type(`${MONITOR}`);
    await seeFrame(terminal, /^procman test /);
    terminal.keys("f", "e", "c", "h", "o", "Enter", "i", "q", "Enter");
    await terminal.see(/^\d\d:\d\d:\d\d \| got q$/);
    await terminal.see(/^echo>$/);
    terminal.paste("one\ntwo\nthree");
    await terminal.see(/^\d\d:\d\d:\d\d \| got two$/);
    await terminal.see(/^echo> three$/);
    await procman(folder, ["stop", "echo"]);
    terminal.keys("Enter");
    await terminal.see(/^Cannot send to "echo": it /);
    // With f at once, it would be Alt-F.
    terminal.keys("Escape");
    await seeFrame(terminal, /^procman test /);
    terminal.keys("f", "C-u", "d", "e", "a", "f", "Enter", "i");
    await terminal.see(/^Cannot type into deaf: it takes no input; set "stdin": true for it$/);
    terminal.keys("q");
    await terminal.prompt();
  });

  test("an empty configuration, and a store that is switched off, are said on the screen", async (context) => {
    if (isMissing(context, "tmux")) return;
    const empty = homeOf(context, []);
    const unstored = homeOf(context, PROCESSES.slice(0, 1), { name: "test", logger: { internalLogHours: 0 } });
    await Promise.all([empty, unstored].map(({ folder }) => procman(folder, ["run", "--detach"])));
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: empty.folder });
    terminal.type(MONITOR);
    await terminal.see(/^No processes: the configuration has none\. "procman add -- PROGRAM" adds one$/);
    terminal.keys("q");
    await terminal.prompt();
    terminal.type(`cd ${unstored.folder}; ${MONITOR}`);
    await terminal.see(/^nothing is stored, because "logger.internalLogHours" is 0$/);
    terminal.keys("q");
  });

  test("without a terminal it prints a line for each change, also over a kill of the service, until procman ends", async (context) => {
    const { folder, state } = homeOf(context, PROCESSES.slice(0, 2));
    await procman(folder, ["run", "--detach"]);
    const lines = follower(context, folder);
    const printed = (pattern: RegExp, from = 0): Promise<true> =>
      eventually(() => pattern.test(lines.out().slice(from)) || undefined);
    await printed(/^\d{4}-\S+ web-2 running \(pid \d+\)$/m);
    const states = lines.out().length;
    await procman(folder, ["restart", "text"]);
    await printed(/^\d{4}-\S+ text started \(pid \d+\)$/m, states);
    killService(state);
    await eventually(() => /^procman: connection lost, reconnecting$/m.test(lines.err()) || undefined);
    const after = lines.out().length;
    await procman(folder, ["stop", "text"]);
    await printed(/^\d{4}-\S+ text stopped/m, after);
    assert.doesNotMatch(lines.out(), /\x1b/);
    await procman(folder, ["terminate"]);
    assert.equal(await lines.end, 0);
    assert.match(lines.err(), /^procman: procman is not running; end of the changes$/m);
  });

  test("Ctrl-C ends the lines, and TERM=dumb has them on a terminal, too; without procman it says how to start one", async (context) => {
    if (isMissing(context, "tmux")) return;
    const { folder } = homeOf(context, PROCESSES.slice(0, 1));
    const { code, err } = await procman(folder, ["monitor"]);
    assert.equal(code, 69);
    assert.match(err, /Start it with "procman run"/);
    await procman(folder, ["run", "--detach"]);
    const lines = follower(context, folder);
    await eventually(() => lines.out().includes("web-2") || undefined);
    process.kill(lines.pid, "SIGINT");
    assert.equal(await lines.end, 0);
    const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder });
    terminal.type(`TERM=dumb ${MONITOR}`);
    await terminal.see(/ web-2 running \(pid \d+\)$/);
    assert.equal(terminal.flags, "0 1 1 0");
    terminal.keys("C-c");
  });
});
