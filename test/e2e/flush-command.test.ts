/** `procman flush`: docs/guide/logs.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { FlushRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const TICKER = `n=0; while :; do n=$((n + 1)); echo "tick $n"; sleep 0.01; done`;

test("flush empties the stored log and the log files while programs write; procman's own entries, rotated and other files stay", async (context) => {
  const files = { stdout: "logs/{id}.log", stderr: "logs/errors.log" };
  const { folder, state } = homeOf(context, [
    { id: "web", cmd: TICKER, autostart: true, logger: files },
    { id: "mail", cmd: "echo hello; echo oops >&2; sleep 1000", autostart: true, logger: files },
    { id: "quiet", cmd: "echo quiet; sleep 1000", autostart: true },
    { id: "never", cmd: "true", logger: files },
  ]);
  const log = (name: string): string => join(folder, "logs", name);
  const text = (name: string): string => (existsSync(log(name)) ? readFileSync(log(name), "utf8") : "");
  const run = (...args: string[]): ReturnType<typeof procman> => procman(folder, args);
  assert.equal((await run("flush", "--yes")).code, 69, "it needs a running procman");
  await run("run", "--detach");
  while (!/quiet/.test((await run("logs", "quiet", "--raw", "--category", "stdout")).out));
  while (text("mail.log") === "" || text("errors.log") === "" || text("web.log") === "");
  writeFileSync(log("mail.log.20260101T000000000Z"), "rotated\n");
  const asked = await run("flush");
  assert.deepEqual([asked.code, asked.out], [64, ""]);
  assert.match(
    asked.err,
    /^procman: Cannot ask whether the logs may be emptied: standard input is not a terminal; add --yes\n$/,
  );
  // One process: its files alone.
  const one = await run("flush", "mail", "--yes");
  assert.deepEqual([one.code, one.out], [1, `${log("mail.log")}: emptied\n`]);
  assert.equal(one.err, `procman: Cannot empty ${log("errors.log")}: it has lines of web, never, too\n`);
  assert.deepEqual([text("mail.log"), text("errors.log")], ["", "oops\n"]);
  assert.equal(
    (await run("logs", "mail", "--raw", "--category", "stdout,stderr")).out,
    "hello\noops\n",
    "the stored log has it still",
  );
  const none = await run("flush", "quiet", "--yes");
  assert.deepEqual([none.code, none.out], [1, ""]);
  assert.match(
    none.err,
    /^procman: Cannot flush quiet alone: no log file is configured, and the stored log is one for all processes; "procman flush" empties that\n$/,
  );
  // All.
  const last = (output: string): number => Number(/tick (\d+)\n$/.exec(output)?.[1] ?? 0);
  const before = last(text("web.log"));
  const { code, out, err } = await run("flush", "--yes", "--json");
  assert.deepEqual([code, err], [0, ""]);
  const record = JSON.parse(out) as FlushRecord;
  assert.deepEqual(record, {
    processes: ["web", "mail", "quiet", "never"],
    files: [log("web.log"), log("errors.log"), log("mail.log")],
    store: true,
    kept: [],
  });
  assert.deepEqual(
    [text("errors.log"), text("mail.log.20260101T000000000Z"), existsSync(log("never.log"))],
    ["", "rotated\n", false],
  );
  while (last(text("web.log")) < before + 50);
  const ticks = text("web.log").trimEnd().split("\n");
  const first = Number(ticks[0]?.slice("tick ".length));
  assert.ok(first > before, `${first} after ${before}`);
  assert.deepEqual(
    ticks,
    ticks.map((_, index) => `tick ${first + index}`),
    "no line is missing or torn",
  );
  const stored = (await run("logs", "web", "--raw", "--category", "stdout", "-n", "10000")).out.trimEnd().split("\n");
  const firstStored = Number(stored[0]?.slice("tick ".length));
  assert.ok(firstStored > before && Math.abs(firstStored - first) <= 5, `${firstStored} beside ${first}`);
  assert.deepEqual(
    stored,
    stored.map((_, index) => `tick ${firstStored + index}`),
  );
  assert.equal((await run("logs", "mail", "quiet", "--raw", "--category", "stdout,stderr")).out, "");
  const own = (await run("logs", "-n", "10000")).out;
  assert.match(own, /mail +\| started \(pid \d+\)/);
  assert.match(own, /flush of the logs of all for "cli"/);
  assert.match(own, /mail +\| flush of the log files for "cli"/);
  // What follows is stored as before, also over a restart of procman.
  await run("restart", "mail");
  await run("terminate");
  assert.equal((await run("logs", "mail", "--raw", "--category", "stdout")).out, "hello\n");
  assert.equal(text("mail.log"), "hello\n");
  assert.ok(readdirSync(join(state, "logs")).length > 0);
});

test("on a terminal flush asks, with all that it deletes; only a yes deletes it", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "echo hello; sleep 1000", autostart: true, logger: { stdout: "web.log" } },
  ]);
  await procman(folder, ["run", "--detach"]);
  const file = join(folder, "web.log");
  while (!existsSync(file) || readFileSync(file, "utf8") === "");
  const answer = async (text: string): Promise<{ readonly code: number | null; readonly shown: string }> => {
    const terminal = spawn("script", ["-qec", `"${process.execPath}" "${BIN}" flush`, "/dev/null"], {
      cwd: folder,
      env: cleanEnvironment({}),
    });
    let shown = "";
    terminal.stdout.setEncoding("utf8").on("data", (more: string) => {
      if (!shown.includes("? (n): ") && `${shown}${more}`.includes("? (n): ")) terminal.stdin.write(`${text}\r`);
      shown += more;
    });
    const [code] = await once(terminal, "close");
    return { code, shown };
  };
  const no = await answer("");
  assert.equal(no.code, 1, no.shown);
  assert.match(
    no.shown,
    new RegExp(`Delete the stored output of all processes and the content of ${file}\\? \\(n\\): `),
  );
  assert.match(no.shown, /procman: Cannot flush: the answer was no; nothing is deleted/);
  assert.equal(readFileSync(file, "utf8"), "hello\n");
  const yes = await answer("y");
  assert.deepEqual([yes.code, readFileSync(file, "utf8")], [0, ""], yes.shown);
});

test("the words of other tools lead to flush; a process of that name is shown", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  await procman(folder, ["run", "--detach"]);
  const logs = await procman(folder, ["logs", "flush"]);
  assert.deepEqual([logs.code, logs.out], [1, ""]);
  assert.match(
    logs.err,
    /^procman: Cannot find process "flush": no process has this id\. "procman flush" empties the logs\n$/,
  );
  assert.match((await procman(folder, ["clear"])).err, /"procman flush" empties the logs/);
  await procman(folder, ["append", "--id", "flush", "--cmd", "echo shown; sleep 1000", "--apply"]);
  while ((await procman(folder, ["logs", "flush", "--raw", "--category", "stdout"])).out !== "shown\n");
});
