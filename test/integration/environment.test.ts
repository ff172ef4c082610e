/** Variables from files, from procman's own environment, and secrets. Spec 2.2. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderWith, Procman } from "../support/procman-process.ts";

const print = (id: string, more: object) => ({ id, cmd: "env", autostart: true, logger: { console: true }, ...more });

test("2.2 env: files, references, defaults, and the working directory", async (context) => {
  const folder = folderWith(context, {
    processes: [
      print("web", {
        envFile: ["a.env", "b.env"],
        env: { URL: "${DB_HOST}:${DB_PORT:-5432}/${NAME}" },
        cwd: "${TEST_ROOT:-nowhere}/..",
      }),
    ],
  });
  writeFileSync(join(folder, "a.env"), "DB_HOST=one\nNAME='a b'\nPATH=/from-file\n");
  writeFileSync(join(folder, "b.env"), "export DB_HOST=two # the real one\n");
  const procman = new Procman(folder, { env: { TEST_ROOT: folder, NAME: "outer" } });
  for (const line of [
    /^web .*\| DB_HOST=two$/,
    /^web .*\| NAME=a b$/,
    /^web .*\| URL=two:5432\/a b$/,
    /^web .*\| PATH=.+:\/from-file$/,
  ])
    await procman.line(line);
});

test("2.1, 2.2 env and envFile of the top level, absent optional files, numbers, and folders in front of PATH", async (context) => {
  const folder = folderWith(context, {
    env: { LEVEL: 2, DEBUG: true, ROLE: "all", FROM: "${A:-nowhere}" },
    envFile: ["all.env", { path: "local.env", optional: true }],
    processes: [
      print("web", { env: { ROLE: "web" }, envFile: { path: "none.env", optional: true }, inheritEnv: ["ONLY_*"] }),
      { id: "tool", cmd: "ls", autostart: true, pathFirst: "bin", logger: { console: true } },
    ],
  });
  writeFileSync(join(folder, "all.env"), "A=one\n");
  mkdirSync(join(folder, "bin"));
  writeFileSync(join(folder, "bin/ls"), "#!/bin/sh\necho mine\n", { mode: 0o755 });
  const procman = new Procman(folder, { env: { ONLY_THIS: "yes", OTHER_ONE: "no" } });
  for (const text of ["LEVEL=2", "DEBUG=true", "ROLE=web", "FROM=one", "A=one", "ONLY_THIS=yes"])
    await procman.line(new RegExp(`^web .*\\| ${text}$`));
  await procman.line(/^tool .*\| mine$/);
  await procman.line(/^web .*finished/);
  assert.ok(!procman.lines.some((line) => line.startsWith("web") && line.includes("OTHER_ONE")));
});

test("2.2 PWD is the working directory of the run: for programs, shells, workers and checks, also after a restart", async (context) => {
  const once = { logger: { console: true }, autostart: true, cwd: "sub" };
  const folder = folderWith(context, {
    processes: [
      { id: "plain", cmd: "printenv PWD", restart: "always", restartLimit: 2, restartDelayMs: 0, ...once },
      { id: "shell", cmd: "printenv PWD | cat", ...once },
      { id: "worker", worker: "work.js", ...once },
      { id: "own", cmd: "printenv PWD", env: { PWD: "/mine" }, ...once },
      { id: "checked", cmd: "exec sleep 1000", ready: { exec: "printenv PWD > ready.txt" }, ...once },
    ],
  });
  mkdirSync(join(folder, "sub"));
  writeFileSync(join(folder, "work.js"), "console.log(process.env.PWD);");
  const procman = new Procman(folder, { env: { PWD: folder } });
  await procman.count(new RegExp(`^plain .*\\| ${folder}/sub$`), 3);
  for (const id of ["shell", "worker"]) await procman.line(new RegExp(`^${id} .*\\| ${folder}/sub$`));
  await procman.line(/^own .*\| \/mine$/);
  await procman.line(/^checked .*ready/);
  assert.equal(readFileSync(join(folder, "sub/ready.txt"), "utf8"), `${folder}/sub\n`);
});

test("2.2 env: a missing variable is an error of that process with a remedy, and a later start reads the file again", async (context) => {
  const folder = folderWith(context, {
    processes: [
      {
        id: "web",
        cmd: "echo has $A; sleep 1000",
        envFile: "web.env",
        autostart: true,
        restart: "always",
        logger: { console: true },
      },
      { id: "other", cmd: "sleep 1000", autostart: true },
      { id: "late", cmd: "echo has $A", cron: "* * * * * *", envFile: "web.env", logger: { console: true } },
    ],
  });
  const procman = new Procman(folder);
  await procman.line(
    /^web .*could not be started: its env file .*web\.env does not exist; create it or correct "envFile"; not retried/,
  );
  await procman.line(/^other .*started/);
  await procman.line(/^late .*could not be started: its env file/);
  writeFileSync(join(folder, "web.env"), "A=one");
  await procman.line(/^late .*\| has one/);
  writeFileSync(join(folder, "web.env"), "A=two");
  await procman.line(/^late .*\| has two/);
  rmSync(join(folder, "web.env"));
  await procman.line(/^late .*could not be started/, procman.lines.length);
});

test("2.2 envFile: a malformed line is reported once with file and line, and the run starts with the others", async (context) => {
  const cmd = "echo has $A-$B; exec sleep 1000";
  const folder = folderWith(context, {
    processes: [{ id: "web", cmd, envFile: "web.env", autostart: true, restart: "always" }],
  });
  const file = join(folder, "web.env");
  writeFileSync(file, "A=one\nC: geheim\nB=two\n");
  const procman = new Procman(folder, { args: ["--console"] });
  await procman.line(/^web .*web\.env:2 is not NAME=value and is ignored; write it like that/);
  await procman.line(/^web .*\| has one-two/);
  const later = [
    ["A=1\nC: geheim\nB=2", "1-2"],
    ["A=3\nB='4\n", "3-'4"],
  ] as const;
  for (const [index, [text, has]] of later.entries()) {
    writeFileSync(file, text);
    const starts = await procman.count(/^web .*started \(pid/, index + 1);
    const pid = Number(/pid (\d+)/.exec(starts.at(-1) ?? "")?.[1]);
    assert.ok(pid > 1);
    process.kill(pid, "SIGKILL");
    await procman.line(new RegExp(`^web .*\\| has ${has}$`));
  }
  await procman.line(/^web .*web\.env:2 opens a quote that is never closed/);
  assert.equal(procman.lines.filter((line) => line.includes("is not NAME=value")).length, 1);
  assert.ok(!procman.lines.join().includes("geheim"));
});

/** The content of all files of procman. */
function everythingIn(folder: string): string {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => readFileSync(file, "latin1"))
    .join("\n");
}

test("2.2 env: a secret reaches its process, and neither output nor files of procman, also after a kill of the service", async (context) => {
  const check = "test $KEY-$TOKEN-$LISTED = ge''heim1-ge''heim2-ge''heim3 && echo right; exec sleep 1000";
  const processes = ["one", "two"].map((id) => ({
    id,
    cmd: check,
    env: { KEY: { file: "key" }, TOKEN: { env: "CI_TOKEN" } },
    envFile: "secrets.env",
    autostart: true,
    logger: { console: true },
  }));
  const folder = folderWith(context, {
    processes: [...processes, { ...processes[0], id: "bad", cmd: "no-such-program-here" }],
  });
  writeFileSync(join(folder, "key"), "geheim1\n");
  writeFileSync(join(folder, "secrets.env"), "LISTED=geheim3\n");
  const procman = new Procman(folder, { env: { CI_TOKEN: "geheim2" } });
  for (const id of ["one", "two"]) await procman.line(new RegExp(`^${id} .*\\| right`));
  await procman.line(/^bad .*could not be started/);
  const pid = Number(/pid (\d+)/.exec(await procman.line(/^one .*started/))?.[1]);
  assert.ok(pid > 1);
  const from = procman.lines.length;
  process.kill(procman.helper("service"), "SIGKILL");
  process.kill(pid, "SIGKILL");
  await procman.line(/^one .*\| right/, from);
  const output = procman.lines.join("\n");
  assert.ok(!output.includes("geheim"), output);
  const kept = everythingIn(join(folder, ".procman"));
  assert.ok(kept.includes("right") || kept.includes("secrets.env"));
  assert.ok(!kept.includes("geheim"));
});

test("2.2 a path with an unset variable is an error of the file, with its place", async (context) => {
  const folder = folderWith(context, { processes: [print("web", { cwd: "${NOT_SET_HERE}/x" })] });
  const procman = new Procman(folder);
  assert.equal((await procman.exit()).code, 78);
  await procman.line(/procman\.json:1:\d+ processes\[0\]\.cwd/);
  await procman.line(/NOT_SET_HERE is not set here; set it, or give a default: \$\{NOT_SET_HERE:-…\}/);
});

test("a secret that a process or a plugin names reaches no other process, nor its probes", async (context) => {
  const secrets = { CI_TOKEN: "secret-1", HOOK: "secret-2", VISIBLE: "yes" };
  const folder = folderWith(context, {
    processes: [
      print("web", { env: { TOKEN: { env: "CI_TOKEN" } } }),
      print("mail", { cmd: "env; exec sleep 1000", ready: { exec: "env > probe.txt" } }),
    ],
    plugins: [{ url: "procman/notify", options: { webhook: "http://127.0.0.1:1/", headers: { "X-Key": "${HOOK}" } } }],
  });
  const procman = new Procman(folder, { env: secrets });
  await procman.line(/^web .*\| TOKEN=secret-1$/);
  await procman.line(/^mail .*\| VISIBLE=yes$/);
  await procman.line(/^mail .*ready/);
  const leaked = procman.lines.filter((line) => /^mail .*secret-/.test(line) || /^web .*secret-2/.test(line));
  assert.deepEqual(leaked, []);
  const probe = readFileSync(join(folder, "probe.txt"), "utf8");
  assert.match(probe, /VISIBLE=yes/);
  assert.doesNotMatch(probe, /secret-/);
});
