/** `procman logs`: while procman runs, after its end, and during kills of the service. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { LogEntry } from "../../src/core/contract/records.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment, eventually } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const COUNTER = "i=0; while true; do i=$((i+1)); echo line $i; sleep 0.02; done";

function numbersIn(text: string): readonly number[] {
  return [...text.matchAll(/\| line (\d+)$/gm)].map(([, number]) => Number(number));
}

function consecutive(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}

test("4 logs prints the last lines, also by id, severity, category and text; the same after the end of procman", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER, cmd: "echo Hello; echo oops >&2; exec sleep 1000" },
    { id: "mail", ...SLEEPER, cmd: "echo mail here; exec sleep 1000" },
  ]);
  await procman(folder, ["run", "--detach"]);
  const ask = async (...args: readonly string[]): Promise<string> => (await procman(folder, ["logs", ...args])).out;
  for (let all = ""; !/Hello[\s\S]*oops|oops[\s\S]*Hello/.test(all) || !all.includes("mail here"); ) all = await ask();
  const check = async (): Promise<void> => {
    assert.match(
      await ask("web", "--category", "stdout"),
      /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d) web +\| Hello\n$/,
    );
    assert.match(await ask("web", "--severity", "error"), /^\S+ web +! oops\n$/);
    assert.match(await ask("--search", "HELLO"), /^\S+ web +\| Hello\n$/);
    assert.match(await ask("mail", "--category", "stdout,stderr", "--since", "1h"), /^\S+ mail +\| mail here\n$/);
    assert.deepEqual(await procman(folder, ["logs", "web", "--until", "yesterday"]), {
      code: 0,
      out: "",
      err: "procman: no matching log entries\n",
    });
    const entries = (await ask("mail", "--json"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as LogEntry);
    assert.deepEqual(
      entries
        .filter(({ category }) => category === "stdout")
        .map(({ process, text, severity }) => ({ process, text, severity })),
      [{ process: "mail", text: "mail here", severity: "info" }],
    );
    assert.equal((await ask("-n", "1")).split("\n").length, 2);
  };
  await check();
  const unknown = await procman(folder, ["logs", "mial"]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.err, /Did you mean "mail"/);
  await procman(folder, ["terminate"]);
  await check();
  assert.match(await ask("-n", "1"), /\| everything is stopped\n$/);
});

test("logs --severity means what a line says: its JSON level, its <N>, or a rule of the file, also after the end of procman", async (context) => {
  const lines = ['{"level":50,"msg":"no"}', '{"level":"info","msg":"up"}', "<4>full", "W slow", "{broken"];
  const program = `process.stdout.write(${JSON.stringify(`${lines.join("\n")}\n`)}); console.error('{"level":"info"}\\noops'); setInterval(() => {}, 1e6)`;
  const processes = [{ id: "web", cmd: `exec ${process.execPath} web.cjs`, autostart: true, minUptimeMs: 50 }];
  const { folder } = homeOf(context, processes);
  writeFileSync(join(folder, "web.cjs"), program);
  await procman(folder, ["run", "--detach"]);
  const shown = async (severity: string): Promise<readonly string[]> =>
    (await procman(folder, ["logs", "web", "--severity", severity, "--category", "stdout,stderr", "--json"])).out
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as LogEntry]))
      .map(({ severity, text }) => `${severity} ${text}`)
      .toSorted();
  const all = [
    "error oops",
    `error ${lines[0]}`,
    "info W slow",
    `info ${lines[1]}`,
    'info {"level":"info"}',
    "info {broken",
    "warn <4>full",
  ];
  while ((await shown("debug")).length < all.length);
  assert.deepEqual(await shown("debug"), all);
  const severe = all.filter((line) => !line.startsWith("info"));
  assert.deepEqual(await shown("warn"), severe);
  const logger = { levels: [{ prefix: "W ", severity: "warn" }] };
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", logger, processes }));
  assert.match((await procman(folder, ["reload"])).out, /logger\.levels/);
  while ((await shown("warn")).length === severe.length);
  assert.deepEqual(await shown("warn"), [...severe, "warn W slow"].toSorted());
  await procman(folder, ["terminate"]);
  assert.deepEqual(await shown("warn"), [...severe, "warn W slow"].toSorted());
});

test("logs --where and --regex find lines by fields and expressions, also with -f and after the end of procman", async (context) => {
  const lines = Array.from(
    { length: 50 },
    (_, n) => `{"level":30,"req":{"id":${n}},"status":${n % 25 === 0 ? 503 : 200}}`,
  );
  const { folder } = homeOf(context, [
    {
      id: "web",
      cmd: `cat lines; while [ ! -e go ]; do sleep 0.05; done; cat lines; exec sleep 1000`,
      autostart: true,
    },
  ]);
  writeFileSync(join(folder, "lines"), `${lines.join("\n")}\ntext "status":503\n`);
  await procman(folder, ["run", "--detach"]);
  const ask = async (...args: readonly string[]): Promise<string> =>
    (await procman(folder, ["logs", "web", "--raw", ...args])).out;
  while ((await ask("--regex", "^text")) === "");
  const failed = `${lines[0]}\n${lines[25]}\n`;
  const check = async (): Promise<void> => {
    assert.equal(await ask("--where", "status>=500"), failed);
    assert.equal(await ask("--where", "status>=500", "--where", "req.id!=0"), `${lines[25]}\n`);
    assert.equal(await ask("--where", "req.id=7"), `${lines[7]}\n`);
    assert.equal(await ask("--regex", "id.:2[45]\\D", "--regex", "503"), `${lines[25]}\n`);
    assert.equal(await ask("--where", "status=404"), "");
  };
  await check();
  const follower = spawn(process.execPath, [BIN, "logs", "web", "--raw", "-n", "2", "-f", "--where", "status>=500"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(follower, "close");
  let text = "";
  follower.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
    if (text.length === failed.length) writeFileSync(join(folder, "go"), "");
    if (text.length >= 2 * failed.length) follower.kill("SIGINT");
  });
  assert.deepEqual(await ended, [0, null]);
  assert.equal(text, failed + failed);
  await procman(folder, ["terminate"]);
  assert.equal(await ask("--where", "req.id=7", "-n", "1"), `${lines[7]}\n`);
});

test("logs -f continues over kills of the service without a gap or a repeated line, and ends with procman", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: COUNTER, autostart: true }]);
  await procman(folder, ["run", "--detach"]);
  const follower = spawn(process.execPath, [BIN, "logs", "web", "-f", "--category", "stdout", "-n", "10000"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(follower, "close");
  let text = "";
  follower.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  let killed = 0;
  for (let kills = 0; kills < 3; kills += 1) {
    const seen = numbersIn(text).length;
    await eventually(() => (numbersIn(text).length > seen + 10 ? true : undefined));
    killed = await eventually(() => {
      const { pid } = JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as { readonly pid: number };
      return pid === killed ? undefined : pid;
    });
    assert.ok(killed > 1);
    process.kill(killed, "SIGKILL");
  }
  const seen = numbersIn(text).length;
  await eventually(() => (numbersIn(text).length > seen + 10 ? true : undefined));
  await procman(folder, ["terminate"]);
  assert.deepEqual(await ended, [0, null]);
  const numbers = numbersIn(text);
  assert.deepEqual(numbers, consecutive(1, numbers.length));
  const stored = numbersIn((await procman(folder, ["logs", "web", "--since", "1h"])).out);
  assert.deepEqual(numbers, stored);
});

test("logs ends without a message when its reader has ended, and at Ctrl-C", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "seq 1 20000; while sleep 0.1; do echo on; done", autostart: true },
  ]);
  await procman(folder, ["run", "--detach"]);
  // `logs -f` notices the end of its reader at the next line.
  const line = `${process.execPath} ${BIN} logs --since 1h | head -n 1; ${process.execPath} ${BIN} logs -f | head -n 1`;
  const head = spawn("bash", ["-c", `set -o pipefail; ${line}`], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let err = "";
  head.stderr.on("data", (part) => {
    err += String(part);
  });
  assert.deepEqual(await once(head, "close"), [0, null]);
  assert.equal(err, "");
  const follower = spawn(process.execPath, [BIN, "logs", "-f"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(follower.stdout, "data");
  follower.kill("SIGINT");
  follower.stdout.resume();
  assert.deepEqual(await once(follower, "close"), [0, null]);
});

test("logs -n 0 -f shows only new entries; -n 0 alone shows none", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: COUNTER, autostart: true }]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const stored = async (): Promise<number> =>
    numbersIn((await procman(folder, ["logs", "web", "-n", "1"])).out)[0] ?? 0;
  let last = 0;
  while (last < 3) last = await stored();
  assert.deepEqual(await procman(folder, ["logs", "-n", "0"]), { code: 0, out: "", err: "" });
  const follower = spawn(process.execPath, [BIN, "logs", "web", "--lines", "0", "--follow", "--category", "stdout"], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = (await once(follower.stdout, "data")) as [Buffer];
  follower.kill("SIGINT");
  follower.stdout.resume();
  assert.deepEqual(await once(follower, "close"), [0, null]);
  const [first = 0] = numbersIn(String(text));
  assert.ok(first > last, `${first} after ${last}`);
});

test("invalid options of logs are reported, with exit code 64", async (context) => {
  const { folder } = homeOf(context, []);
  for (const [args, message] of [
    [["--since", "soon"], /Cannot read --since "soon": it is not a time; use 10m/],
    [["--severity", "fatal"], /Allowed choices are debug, info, warn, error/],
    [["--category", "stdout,out"], /Allowed: stdout, stderr, lifecycle/],
    [["-n", "-1"], /Allowed: a whole number from 0/],
    [["-f", "--until", "1h"], /--follow has no end/],
    [["--where", "status"], /Cannot filter by "status": write a field, one of = != > >= < <=, and a value, such as/],
    [["--regex", "("], /Cannot use the regular expression "\(": missing closing \)/],
    [["--regex", "(?=a)"], /the syntax is that of RE2, without look-around and back-references/],
  ] as const) {
    const { code, err } = await procman(folder, ["logs", ...args]);
    assert.equal(code, 64, args.join(" "));
    assert.match(err, message);
  }
});

test("2.3 if nothing is stored, logs says so", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "true" }], { logger: { internalLogHours: 0 } });
  const { code, out, err } = await procman(folder, ["logs"]);
  assert.deepEqual([code, out], [0, ""]);
  assert.equal(err, 'procman: nothing is stored, because "logger.internalLogHours" is 0\n');
  assert.match((await procman(folder, ["logs", "-f"])).err, /^procman: nothing is stored, because /);
});

test("an output that can't be written leads to one message and an exit code", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "true" }]);
  for (const command of ["schema", "help", "version", "--help", "help run"]) {
    const full = spawn("sh", ["-c", `${process.execPath} ${BIN} ${command} > /dev/full`], {
      cwd: folder,
      env: cleanEnvironment(),
    });
    let errors = "";
    full.stderr.setEncoding("utf8").on("data", (part) => {
      errors += part;
    });
    assert.deepEqual(await once(full, "close"), [1, null], command);
    assert.match(errors, /^procman: Cannot write to standard output: ENOSPC[^\n]*\n$/);
  }
});

test("the id of a cluster selects the log entries of its instances", async (context) => {
  const { folder } = homeOf(context, [
    { id: "pool", cmd: "exec sleep 1000", autostart: true, cluster: { instances: 2 } },
  ]);
  await procman(folder, ["run", "--detach"]);
  await procman(folder, ["stop", "pool-2"]);
  const entries = async (...args: readonly string[]): Promise<readonly LogEntry[]> => {
    const { out } = await procman(folder, ["logs", "pool", "--json", ...args]);
    return out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as LogEntry]));
  };
  let started: readonly string[] = [];
  while (started.length < 2) {
    const all = await entries("--category", "lifecycle");
    started = all.flatMap(({ text, process, instance }) =>
      text.startsWith("started") ? [`${process} ${instance}`] : [],
    );
  }
  assert.deepEqual([...started].sort(), ["pool-1 1", "pool-2 2"]);
  assert.deepEqual(
    (await entries("--category", "api")).map(({ process, instance, text }) => ({ process, instance, text })),
    [{ process: "pool-2", instance: 2, text: 'stop for "cli"' }],
  );
});

test("logs has host time with its offset, and --since takes what it prints; --json has UTC, --raw the lines as they were written", async (context) => {
  const env = { TZ: "Asia/Kolkata" };
  const { folder } = homeOf(context, [
    { id: "web", cmd: "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exec sleep 1000", autostart: true },
  ]);
  await procman(folder, ["run", "--detach"], env);
  const ask = async (...args: readonly string[]): Promise<string> =>
    (await procman(folder, ["logs", "web", "--category", "stdout", ...args], env)).out;
  let shown = "";
  while (!shown.includes("one")) shown = await ask();
  writeFileSync(join(folder, "go"), "");
  while (!shown.includes("two")) shown = await ask();
  const [first = "", second = ""] = shown.split("\n").map((line) => line.split(" ")[0]);
  assert.match(second, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+05:30$/);
  assert.match(await ask("--since", second), /^\S+ web +\| two\n$/);
  assert.equal((JSON.parse(await ask("--search", "one", "--json")) as LogEntry).time, new Date(first).toISOString());
  assert.equal(await ask("--raw"), "one\ntwo\n");
  const { out: why } = await procman(folder, ["why", "web"], env);
  assert.match(why, /^web runs \(pid \d+\) since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+05:30\.$/m);
});

test("logs --runs has the last runs of each process, --run one of them, also when their numbers began anew", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", cmd: "echo web $PROCMAN_RUN; exec sleep 1000", autostart: true, env: { PROCMAN_RUN: "x" } },
    { id: "job", cmd: "echo job; exec sleep 1000", autostart: true },
  ]);
  const starts = async (count: number): Promise<void> => {
    for (let text = ""; text.split("web x").length <= count; ) text = (await procman(folder, ["logs", "web"])).out;
  };
  const textsOf = async (...args: readonly string[]): Promise<readonly string[]> =>
    (await procman(folder, ["logs", ...args, "--json"])).out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as LogEntry)
      .map(({ process = "", run = "", text }) => `${process}#${run} ${text.replace(/ \(.*/, "")}`);
  await procman(folder, ["run", "--detach"]);
  await procman(folder, ["restart", "web"]);
  await starts(2);
  await procman(folder, ["terminate"]);
  await procman(folder, ["run", "--detach"]);
  await starts(3);
  assert.deepEqual(await textsOf("web", "--runs", "1"), ["web#1 started", "web#1 web x"]);
  assert.deepEqual(await textsOf("web", "--runs", "2", "--category", "stdout"), ["web#2 web x", "web#1 web x"]);
  assert.deepEqual(await textsOf("--runs", "1", "--category", "stdout").then((texts) => texts.toSorted()), [
    "job#1 job",
    "web#1 web x",
  ]);
  assert.deepEqual(await textsOf("web", "--run", "2", "--category", "stdout"), ["web#2 web x"]);
  assert.deepEqual(await textsOf("web", "--run", "1", "-n", "1"), ["web#1 web x"]);
  assert.match((await procman(folder, ["logs", "web", "--run", "9"])).err, /no matching log entries/);
});
