/** Typing into real programs, which read on whatever happens to procman. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { api } from "../support/cluster-rig.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, folderWith, Procman } from "../support/procman-process.ts";
import { client as clientEntry } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const open = { stdin: true, autostart: true, restart: "never", logger: { console: true } };

/** Each keeps a number, and prints the next one. */
const REPLS = {
  cat: { cmd: "cat", first: "41", next: "42" },
  bash: { cmd: "bash", first: "x=41", next: "echo $((x + 1))" },
  python: { cmd: "python3 -u -i", first: "x = 41", next: "print(x + 1)" },
  node: { cmd: "node -i", first: "var x = 41", next: "x + 1" },
} as const;

test("a shell, python, node's REPL and cat are typed into before and after kills of the service and the keeper, an upgrade and a reload; none sees an end of its input", async (context) => {
  if (isMissing(context, "python3")) return;
  const processes = Object.entries(REPLS).map(([id, { cmd }]) => ({ id, cmd, ...open }));
  const folder = folderWith(context, { processes });
  const procman = new Procman(folder);
  const type = async (step: "first" | "next"): Promise<void> => {
    const control = await api({ procman });
    for (const [id, repl] of Object.entries(REPLS)) {
      const text = `${repl[step]}\n`;
      assert.deepEqual(await control.input(id, { text }), { process: id, bytes: text.length });
    }
  };
  const pids = async (): Promise<readonly unknown[]> => {
    const records = await (await api({ procman })).processes();
    return records.filter(({ id }) => id in REPLS).map(({ id, pid, status }) => [id, pid, status]);
  };
  for (const id of Object.keys(REPLS)) await procman.line(new RegExp(`^${id} +\\| started`));
  const before = await pids();
  await type("first");
  process.kill(procman.helper("service"), "SIGKILL");
  await procman.line(/the service ended/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  assert.equal((await cli(folder, ["upgrade"])).code, 0);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ processes: [...processes, { id: "more", cmd: "sleep 1000" }] }),
  );
  assert.equal((await cli(folder, ["reload"])).code, 0);
  await type("next");
  for (const id of Object.keys(REPLS)) await procman.line(new RegExp(`^${id} +\\| (> )*42$`));
  assert.deepEqual(await pids(), before);
  await procman.stopHolder();
});

test("what can't be typed into says why and what to do; a new run begins with an empty input", async (context) => {
  const folder = folderWith(context, {
    processes: [
      { id: "closed", cmd: "sleep 1000", autostart: true },
      { id: "down", cmd: "cat", stdin: true },
      { id: "deaf", cmd: "exec <&-; echo closed; exec sleep 1000", ...open },
      { id: "halted", cmd: "cat", terminateTimeout: 1, ...open },
    ],
  });
  const procman = new Procman(folder);
  await procman.line(/^halted +\| started/);
  const control = await api({ procman });
  const refused = async (id: string, code: string, message: RegExp): Promise<void> => {
    await assert.rejects(control.input(id, { text: "x\n" }), { code, message });
  };
  await refused("closed", "input-refused", /^Cannot send to "closed": it takes no input; set "stdin": true for it/);
  await refused("down", "process-not-running", /^Cannot send to "down": it has not been started yet/);
  await procman.line(/^deaf +\| closed$/);
  await refused("deaf", "input-refused", /its program has closed its standard input, or has just ended$/);
  const { pid = 0 } = await control.process("halted");
  process.kill(pid, "SIGSTOP");
  await control.input("halted", { text: "unread\n" });
  await control.act("halted", "restart", { waitSeconds: 30 });
  await control.input("halted", { data: Buffer.from("n\u00e9w\n").toString("base64") });
  await procman.line(/^halted +\| n\u00e9w$/);
  assert.deepEqual(
    procman.lines.filter((line) => line.includes("unread")),
    [],
  );
});

test("a process is typed into after the folder of its FIFO was emptied, and when it was restarted then", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "echo", cmd: "cat", ...open }] });
  const procman = new Procman(folder);
  await procman.line(/^echo +\| started/);
  const control = await api({ procman });
  const run = join(procman.stateDir, "run");
  for (const name of readdirSync(run)) rmSync(join(run, name), { recursive: true });
  await control.input("echo", { text: "first\n" });
  await procman.line(/^echo +\| first$/);
  writeFileSync(join(run, "stdin-echo"), "");
  await control.input("echo", { text: "second\n" });
  await procman.line(/^echo +\| second$/);
  await procman.line(/was removed; procman has recreated it/);
  await control.act("echo", "restart", { waitSeconds: 30 });
  await control.input("echo", { text: "third\n" });
  await procman.line(/^echo +\| third$/);
  assert.ok(statSync(join(run, "stdin-echo")).isFIFO());
});

test("a token types into a process only with the scope input, which admin doesn't have; the log has the number of bytes, not the text", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "login", cmd: "cat", ...open }] });
  const procman = new Procman(folder);
  await procman.line(/^login +\| started/);
  await api({ procman });
  const { hostname, port } = JSON.parse(readFileSync(join(procman.stateDir, "endpoint.json"), "utf8")) as Endpoint;
  const { connect } = await clientEntry();
  const as = async (...scope: readonly string[]) => {
    const { out } = await cli(folder, ["token", "--consumer", "bot", ...scope]);
    return connect({ url: `http://${hostname}:${port}`, token: out.trim() });
  };
  for (const scope of [[], ["--scope", "admin"], ["--scope", "read,control"], ["--process", "login"]])
    await assert.rejects((await as(...scope)).input("login", { text: "secret\n" }), { code: "scope-missing" });
  const bot = await as("--scope", "input", "--process", "login");
  assert.deepEqual(await bot.input("login", { text: "passwd\n" }), { process: "login", bytes: 7 });
  await assert.rejects(bot.process("login"), { code: "scope-missing" });
  const line = await procman.line(/^login +\| input of/);
  assert.match(line, /input of 7 bytes for "bot"$/);
  const { out } = await cli(folder, ["logs", "--category", "api"]);
  assert.doesNotMatch(out, /passwd|secret/);
});

test("two senders at once, through the API and straight into the FIFO, and a program that reads slowly: every line arrives whole, those of a sender in order", async (context) => {
  const slow = `process.stdin.on("data", (data) => { require("node:fs").appendFileSync("got", data); process.stdin.pause(); setTimeout(() => process.stdin.resume(), 2); });`;
  const folder = folderWith(context, { processes: [{ id: "slow", cmd: "node slow.cjs", ...open }] });
  writeFileSync(join(folder, "slow.cjs"), `${slow}\nconsole.log("reads");`);
  const procman = new Procman(folder);
  await procman.line(/^slow +\| reads$/);
  const control = await api({ procman });
  const linesOf = (name: string): readonly string[] =>
    Array.from({ length: 150 }, (_, index) => `${name} ${index} ${name.repeat((index * 37) % 4_000)}\n`);
  const byApi = async (): Promise<void> => {
    for (let rest = linesOf("a").join(""); rest !== ""; ) {
      const taken = await control.input("slow", { text: rest }).then(
        ({ bytes }) => bytes,
        (error: { readonly taken?: number }) => error.taken ?? assert.fail(String(error)),
      );
      rest = rest.slice(taken);
    }
  };
  const byFile = async (): Promise<void> => {
    const fifo = await openFile(join(procman.stateDir, "run/stdin-slow"), "r+");
    for (const line of linesOf("b")) await fifo.write(line);
    await fifo.close();
  };
  await Promise.all([byApi(), byFile()]);
  const got = join(folder, "got");
  const expected = [...linesOf("a"), ...linesOf("b")];
  const size = expected.join("").length;
  await eventually(() => (existsSync(got) && statSync(got).size >= size ? true : undefined));
  const arrived = readFileSync(got, "utf8").split(/(?<=\n)/);
  for (const name of ["a", "b"])
    assert.deepEqual(
      arrived.filter((line) => line.startsWith(`${name} `)),
      linesOf(name),
    );
  assert.equal(arrived.length, expected.length);
});

/** Says when it has read each line; the clock is that of the machine. */
const CLOCK = `process.stdin.setEncoding("utf8").on("data", (text) => console.log(text.trim(), "at", process.hrtime.bigint().toString()));`;

test("a program reads what is typed within 30 ms", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "clock", cmd: "node clock.cjs", ...open }] });
  writeFileSync(join(folder, "clock.cjs"), `${CLOCK}\nconsole.log("reads");`);
  const procman = new Procman(folder);
  await procman.line(/^clock +\| reads$/);
  const control = await api({ procman });
  const times: number[] = [];
  for (let key = 0; key < 20; key++) {
    const from = process.hrtime.bigint();
    await control.input("clock", { text: `key${key}\n` });
    const [, at = "0"] = /at (\d+)$/.exec(await procman.line(new RegExp(`\\| key${key} at`))) ?? [];
    times.push(Number(BigInt(at) - from) / 1e6);
  }
  const median = times.toSorted((one, other) => one - other)[10] ?? Infinity;
  context.diagnostic(`median ${median.toFixed(1)} ms`);
  assertWithin(30, median, "a key");
});
