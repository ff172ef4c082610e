/** Text of programs and of other users never acts on the terminal, and never looks like another entry of the log. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint, LogEntry } from "../../src/core/contract/records.ts";
import { homeOf, keeperIn, procman, SLEEPER } from "../support/cli.ts";
import { eventually, processExit, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const ESCAPES = String.raw`printf 'a\033[2J\033]0;OWNED\007\033[31mred\033[0m\r forged\r\n'`;
/** Runs what follows on a terminal. */
const TERMINAL = ["python3", "-c", "import pty, sys; pty.spawn(sys.argv[1:])"];
const FORGED = '2026-01-01T00:00:00.000Z procman | terminate for "alice"';

test("logs shows control characters and marks further lines of an entry; --raw and --json have the text as it is", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: `${ESCAPES}; echo $PROCMAN_API_TOKEN > token; exec sleep 1000`, autostart: true },
  ]);
  await procman(folder, ["run", "--detach"]);
  const token = await eventually(
    () => (existsSync(join(folder, "token")) && readFileSync(join(folder, "token"), "utf8").trim()) || undefined,
  );
  const { port } = JSON.parse(readFileSync(join(folder, ".procman/test/endpoint.json"), "utf8")) as Endpoint;
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  const text = `done\n${FORGED}\u001b[2J`;
  const answer = await fetch(`http://127.0.0.1:${port}/log`, {
    method: "POST",
    headers,
    body: JSON.stringify({ text }),
  });
  assert.equal(answer.status, 201);
  const logs = async (...args: readonly string[]): Promise<string> => (await procman(folder, ["logs", ...args])).out;
  const shown = await logs("web", "--category", "stdout,log");
  assert.doesNotMatch(shown, /[\0-\x09\x0b-\x1f\x7f-\x9f]/);
  assert.match(shown, /web +\| a\\x1b\[2J\\x1b\]0;OWNED\\x07red\\x0d forged$/m);
  assert.ok(!shown.split("\n").includes(`${FORGED}\\x1b[2J`), shown);
  assert.match(shown, /^ +│ 2026-01-01T00:00:00\.000Z procman \| terminate for "alice"\\x1b\[2J$/m);
  assert.ok(
    (await logs("web", "--category", "stdout", "--raw")).includes(
      "a\u001b[2J\u001b]0;OWNED\u0007\u001b[31mred\u001b[0m\r forged",
    ),
  );
  const [entry] = (await logs("web", "--category", "log", "--json")).trim().split("\n");
  assert.equal((JSON.parse(entry ?? "") as LogEntry).text, text);
});

test("an id with line ends and escapes is one line of the log of requests", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const token = (await procman(folder, ["token", "--consumer", "mallory"])).out.trim();
  const { port } = JSON.parse(readFileSync(join(folder, ".procman/test/endpoint.json"), "utf8")) as Endpoint;
  const path = `/processes/${encodeURIComponent(`x\n${FORGED}\u001b[2J`)}/stop`;
  await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers: { authorization: `Bearer ${token}` } });
  const found = await eventuallyLogged(folder, "mallory");
  const entry = found.find(({ text }) => text.includes("refused"));
  assert.match(entry?.text ?? "", /^stop of "x\\x0a2026-01-01T.*\\x1b\[2J" for "mallory": refused: /);
  assert.ok(!(entry?.text ?? "").includes("\n"));
});

async function eventuallyLogged(folder: string, search: string): Promise<readonly LogEntry[]> {
  for (;;) {
    const { out } = await procman(folder, ["logs", "--category", "api", "--search", search, "--json"]);
    if (out !== "")
      return out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as LogEntry);
  }
}

test("the console of run shows control characters on a terminal, colors pass if it has them; a pipe gets the bytes", async (context) => {
  const config = { logger: { console: true, colors: true } };
  const processes = [{ id: "web", cmd: `${ESCAPES}; exec sleep 1000`, autostart: true }];
  const on = await startProcman(context, processes, {
    config,
    launcher: TERMINAL,
    env: { TERM: "xterm", NO_COLOR: "" },
  });
  assert.ok((await on.line(/OWNED/)).includes("a\\x1b[2J\\x1b]0;OWNED\\x07\u001b[31mred\u001b[0m\\x0d forged"));
  const dumb = await startProcman(context, processes, { config, launcher: TERMINAL, env: { TERM: "dumb" } });
  assert.equal((await dumb.line(/OWNED/)).trimEnd(), "web     | a\\x1b[2J\\x1b]0;OWNED\\x07red\\x0d forged");
  const asked = await startProcman(context, processes, {
    config: { logger: {} },
    args: ["--console"],
    launcher: TERMINAL,
    env: { TERM: "xterm", NO_COLOR: "" },
  });
  assert.ok((await asked.line(/OWNED/)).includes("\u001b[31mred"), "run --console has colors without a setting");
  const piped = await startProcman(context, processes, { config });
  assert.ok((await piped.line(/OWNED/)).includes("a\u001b[2J\u001b]0;OWNED\u0007\u001b[31mred\u001b[0m\r forged"));
});

test("on a terminal logs and the console show lines of JSON as level, message and key=value; --raw, pipes and files have them as they are", async (context) => {
  const line = String.raw`{"level":50,"time":1,"msg":"no\u001b[2J disk","code":7,"stack":"Error: x\n  at y"}`;
  const { folder } = homeOf(context, [
    { id: "web", cmd: "cat line; exec sleep 1000", autostart: true, logger: { stdout: "web.log" } },
  ]);
  writeFileSync(join(folder, "line"), `${line}\n`);
  await procman(folder, ["run", "--detach"]);
  await eventually(
    () => (existsSync(join(folder, "web.log")) && readFileSync(join(folder, "web.log"), "utf8")) || undefined,
  );
  assert.equal(readFileSync(join(folder, "web.log"), "utf8"), `${line}\n`);
  const terminal = new TmuxTerminal(context, { columns: 140, rows: 20, cwd: folder });
  const logs = `${process.execPath} ${BIN} logs web --category stdout`;
  assert.match(await terminal.output(logs), /web +\| ERROR no\\x1b\[2J disk code=7\n +│ stack=Error: x\n +│ {3}at y$/m);
  assert.match(await terminal.output(`${logs} --raw`), /^\{"level":50,"time":1,"msg":"no/m);
  assert.ok((await procman(folder, ["logs", "web"])).out.includes(`| ${line}\n`), "a pipe");
  const config = { logger: { console: true } };
  const processes = [{ id: "web", cmd: `cat ${join(folder, "line")}; exec sleep 1000`, autostart: true }];
  const shown = await startProcman(context, processes, { config, launcher: TERMINAL, env: { TERM: "dumb" } });
  assert.equal((await shown.line(/disk/)).trimEnd(), "web     | ERROR no\\x1b[2J disk code=7");
  const plain = await startProcman(context, processes, {
    config: { logger: { console: true, levels: false } },
    launcher: TERMINAL,
    env: { TERM: "dumb" },
  });
  assert.equal((await plain.line(/disk/)).trimEnd(), `web     | ${line}`);
});

test("run on a terminal that shows no output says once how to see it; with output, or without a terminal, it doesn't", async (context) => {
  const notice = /output of the processes is not shown here: "procman run --console" shows it, "procman logs -f"/;
  const processes = [{ id: "web", cmd: "echo hello; exec sleep 1000", autostart: true }];
  const quiet = await startProcman(context, processes, { launcher: TERMINAL });
  await quiet.line(/web.*started/);
  assert.equal(quiet.lines.filter((line) => notice.test(line)).length, 1, quiet.lines.join("\n"));
  for (const options of [{ launcher: TERMINAL, args: ["--console"] }, {}]) {
    const other = await startProcman(context, processes, options);
    await other.line(/web.*started/);
    assert.ok(!other.lines.some((line) => notice.test(line)));
  }
});

test("run --console ends everything when its terminal is closed; with --keep, and without --console, it goes on", async (context) => {
  for (const [args, ends] of [
    ["--console", true],
    ["--console --keep", false],
    ["", false],
  ] as const) {
    const { folder, state } = homeOf(context, [
      { id: "web", cmd: "trap 'touch ended; exit 0' TERM; echo up; while :; do sleep 0.05; done", autostart: true },
    ]);
    const terminal = new TmuxTerminal(context, { columns: 100, rows: 20, cwd: folder });
    terminal.type(`${process.execPath} ${BIN} run ${args}`);
    await terminal.see(/web +\| .*started/);
    const keeper = keeperIn(state);
    terminal.close();
    if (ends) {
      await processExit(keeper);
      assert.ok(existsSync(join(folder, "ended")), "in order");
    } else {
      assert.equal((await procman(folder, ["status", "web"])).code, 0);
      assert.equal(keeperIn(state), keeper);
    }
  }
});
