/** Spec 2.5: plugins in threads of the service, with real processes. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { procman as command } from "../support/cli.ts";
import { api, plugin, setup, TICKING, withPlugins } from "../support/plugin-rig.ts";
import { childrenOf } from "../support/proc-files.ts";
import { eventually, isAlive, type Procman, processExit } from "../support/procman-process.ts";

const pidIn = (line: string): number => Number(/pid (\d+)/.exec(line)?.[1]);
const started = async (procman: Procman): Promise<number> => pidIn(await procman.line(/^web +\| started/));

/** Pid, run and restarts of the process haven't changed. */
async function assertUntouched(procman: Procman, pid: number): Promise<void> {
  const { run, restarts, status, pid: now } = await api<ProcessRecord>(procman, "/processes/web");
  assert.deepEqual([status, now, run, restarts], ["running", pid, 1, 0]);
}

test("2.5 a plugin gets its options and events, sees processes, acts on them, and writes to the log", async (context) => {
  const text = setup(
    `log.info(\`greets \${options.whom}\`); console.log("by console");
     events.on("process.state", ({ process, text }) => { log.info(\`\${process.id} is \${process.status}\`); });
     const [web] = await control.processes();
     log.warn(\`sees \${web.id} \${web.pid}\`);
     await control.process("nobody").catch(({ code }) => log.error(code));
     await control.input("web", { text: "x" }).catch(({ code }) => log.error(code));
     await control.act("web", "restart", { waitSeconds: 20 });
     for await (const item of control.follow({ processes: ["web"], categories: ["stdout"] }, signal)) { log.info("line " + item.entry.text); break; }
     return () => log.info("farewell");`,
  );
  const procman = withPlugins(
    context,
    { "hello.mjs": text },
    { plugins: [{ url: "./hello.mjs", options: { whom: "${WHOM}" } }], env: { WHOM: "you" } },
  );
  const pid = await started(procman);
  for (const line of [
    /plugin hello: greets you/,
    /plugin hello: by console/,
    new RegExp(`plugin hello: sees web ${pid}`),
    /hello: process-unknown/,
    /hello: input-refused/,
  ])
    await procman.line(line);
  await procman.line(/plugin hello: web is running/);
  await procman.line(/plugin hello: line tick/);
  await procman.line(/plugin hello: runs \(test 1\.0\.0\)/);
  const { out } = await command(procman.folder, ["logs", "--category", "api,plugin", "-n", "100"]);
  assert.match(out, /restart for "plugin hello"/);
  assert.match(out, /plugin hello: greets you/);
  assert.equal(await procman.stop(), 0);
  assert.ok(
    procman.lines.some((line) => /plugin hello: web is stopped/.test(line)),
    "the last event came before its end",
  );
  assert.ok(procman.lines.some((line) => /plugin hello: farewell/.test(line)));
});

test("2.5 without plugins no plugin code is loaded", async (context) => {
  const procman = withPlugins(context, {});
  await started(procman);
  assert.ok(!("plugins" in (await api<object>(procman, "/state"))));
  const service = procman.helper("service");
  const threads = readFileSync(`/proc/${service}/status`, "utf8");
  assert.match(threads, /^Threads:/m);
  assert.ok(!readFileSync(`/proc/${service}/maps`, "utf8").includes("plugin"));
});

test("2.5 a plugin that throws is restarted with back-off, gets the events it has missed, and processes continue", async (context) => {
  const text = setup(
    `const { readFileSync, writeFileSync } = await import("node:fs");
     const file = folder + "/count"; let count = 0; try { count = Number(readFileSync(file)); } catch {}
     writeFileSync(file, String(count + 1));
     if (count < 2) setTimeout(() => { throw new Error("boom " + count); }, 50);
     else log.info("is well now");`,
  );
  const procman = withPlugins(context, { "crash.mjs": text });
  const pid = await started(procman);
  await procman.line(
    /plugin crash: procman\.json:1:\d+: Cannot run it: it threw boom 0 \(\/.*crash\.mjs:\d+:\d+\); retrying in 1 s, processes keep running/,
  );
  await procman.line(/boom 1 .*retrying in 2 s/);
  await procman.line(/plugin crash: is well now/);
  const record = await plugin(procman, "crash", ({ status }) => status === "running");
  assert.deepEqual([record.restarts, record.name, record.version], [2, "test", "1.0.0"]);
  assert.match(record.problem ?? "", /boom 1/);
  const { out } = await command(procman.folder, ["status"]);
  assert.match(out, /^plugin crash has failed: it threw boom 1/m);
  await assertUntouched(procman, pid);
});

test("2.5 a plugin that is being started again after a failure is not running, says status", async (context) => {
  const text = setup(
    `const { existsSync, writeFileSync } = await import("node:fs");
     if (existsSync(folder + "/tried")) return new Promise(() => {});
     writeFileSync(folder + "/tried", ""); throw new Error("boom");`,
  );
  const procman = withPlugins(context, { "slow.mjs": text });
  await started(procman);
  await plugin(procman, "slow", ({ status, restarts }) => status === "starting" && restarts === 1);
  const { out } = await command(procman.folder, ["status"]);
  assert.match(out, /^plugin slow is not running: .*boom/m);
});

test("2.5 a plugin that hangs is ended, and processes continue", async (context) => {
  const procman = withPlugins(context, { "hang.mjs": setup(`setTimeout(() => { for (;;); }, 100);`) });
  const pid = await started(procman);
  await procman.line(/plugin hang: runs/);
  const service = procman.helper("service");
  const record = await plugin(procman, "hang", ({ status }) => status === "backoff");
  assert.match(record.problem ?? "", /it has not answered for 10 s: it hangs/);
  assert.ok(isAlive(service));
  await assertUntouched(procman, pid);
});

test("2.5 a plugin that exhausts its heap, or the memory outside it, is ended, and processes continue", async (context) => {
  const procman = withPlugins(context, {
    "heap.mjs": setup(`const kept = []; setInterval(() => { for (let i = 0; i < 1e5; i += 1) kept.push({ i }); }, 1);`),
    "buffers.mjs": setup(`const kept = []; setInterval(() => kept.push(Buffer.alloc(4e6, 1)), 10);`),
    "burst.mjs": setup(`setTimeout(() => { const kept = []; for (;;) kept.push(Buffer.alloc(1e6, 1)); }, 500);`),
  });
  const pid = await started(procman);
  // Which bound is met first depends on the load of the machine; if V8 can't contain it, the service ends and is
  // restarted.
  const ENDED =
    /its heap needs more than 128 MB|its buffers use \d+ MB, more than 128|it uses more than its 256 MB|it has not answered|procman's service has ended within a minute/;
  const failed = ({ problem }: { readonly problem?: string }) => problem !== undefined;
  assert.match((await plugin(procman, "heap", failed)).problem ?? "", ENDED);
  assert.match((await plugin(procman, "buffers", failed)).problem ?? "", ENDED);
  assert.match((await plugin(procman, "burst", failed)).problem ?? "", ENDED);
  await assertUntouched(procman, pid);
});

test("2.5 a plugin that floods the log and its own listener harms nothing: lines and events are bounded, and the gap is reported", async (context) => {
  const flood = setup(
    `for (let i = 0; i < 200000; i += 1) log.info("flood " + i);
     let release; const held = new Promise((resolve) => { release = resolve; });
     events.on("gap", ({ lost }) => { log.warn("has missed some: " + (lost > 0)); });
     events.on("plugin.state", () => {});
     events.on("process.telemetry", async () => { await held; });
     const report = { process: "web", memory: { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 }, cwd: "/", sent: new Date().toISOString() };
     (async () => { for (let i = 0; i < 2500; i += 1) await control.telemetry(report); log.warn("all sent"); release(); })();`,
  );
  const procman = withPlugins(context, { "flood.mjs": flood });
  const pid = await started(procman);
  await procman.line(/plugin flood: \d+ lines were dropped: it writes more than 100 a second/);
  await procman.line(/plugin flood: all sent/);
  await procman.line(/plugin flood: has missed some: true/);
  const floods = procman.lines.filter((line) => line.includes("plugin flood: flood"));
  assert.ok(floods.length <= 1_000, `${floods.length} lines`);
  assert.ok((await plugin(procman, "flood", () => true)).lostEvents > 0);
  await assertUntouched(procman, pid);
});

test("2.5 errors of plugins name the place and the remedy, and processes continue", async (context) => {
  const procman = withPlugins(
    context,
    {
      "syntax.mjs": "export default {\n  name: 'x',\n  b c\n};\n",
      "none.mjs": "export const x = 1;\n",
      "picky.mjs": setup("", `schema: { type: "object", required: ["to"], properties: { to: { type: "string" } } },`),
      "changed.mjs": setup(""),
      "import.mjs": `import "left-pad-of-nobody";\nexport default {};\n`,
      "exit.mjs": setup("process.exit(3)"),
    },
    {
      plugins: [
        ...["syntax", "none", "import", "exit", "nowhere"].map((name) => ({ url: `./${name}.mjs` })),
        { url: "no-such-package-of-procman" },
        { url: "./picky.mjs", options: { to: 5 } },
        { url: "./changed.mjs", integrity: `sha256-${"A".repeat(43)}=` },
        { url: "./picky.mjs", options: { to: "${NOBODY_SETS_THIS}" } },
        { url: "procman/notify" },
      ],
    },
  );
  const pid = await started(procman);
  for (const [id, problem] of [
    ["syntax", /SyntaxError: Unexpected identifier 'c' \(.*syntax\.mjs:3\); fix the module/],
    ["none", /has no "name"; a plugin's module ends with/],
    ["import", /one of its imports can't be found: .*left-pad-of-nobody/],
    ["exit", /has ended its thread itself \(process\.exit\(3\)\)/],
    ["nowhere", /there is no file .*nowhere\.mjs; create it, or correct "url"/],
    ["no-such-package-of-procman", /there is no package .*`npm install no-such-package-of-procman` there/],
    ["picky", /procman\.json:1:\d+: options\.to must be a string, not 5/],
    ["changed", /has the digest sha256-.*; check what has changed, then correct "integrity"/],
    ["picky-2", /options\.to needs the variable NOBODY_SETS_THIS/],
    ["notify", /neither "webhook" nor "command"/],
  ] as const)
    assert.match((await plugin(procman, id, (record) => record.problem !== undefined)).problem ?? "", problem, id);
  await procman.line(/plugin syntax: procman\.json:1:\d+: Cannot run it: SyntaxError/);
  await assertUntouched(procman, pid);
});

test("2.5 a package is resolved from the configuration's folder, also an ESM-only package", async (context) => {
  const procman = withPlugins(context, {}, { plugins: [{ url: "esm-only" }], processes: [TICKING] });
  const home = join(procman.folder, "node_modules/esm-only");
  mkdirSync(home, { recursive: true });
  writeFileSync(
    join(home, "package.json"),
    JSON.stringify({ name: "esm-only", type: "module", exports: { ".": { import: "./x.js" } } }),
  );
  writeFileSync(join(home, "x.js"), setup(`log.info("is there")`));
  await procman.line(/plugin esm-only: is there/);
});

test("2.5 processes that a plugin has started end with its thread: after an error, a kill of the service, a reload and at the end", async (context) => {
  const text = setup(
    `const { spawn } = await import("node:child_process");
     const { appendFileSync, readFileSync } = await import("node:fs");
     appendFileSync(folder + "/starts", "x");
     const starts = readFileSync(folder + "/starts", "utf8").length;
     const start = (line) => spawn("/bin/sh", ["-c", line], { detached: true, stdio: "ignore" }).pid;
     log.info(starts + " has started " + [start("exec sleep 1000"), start("trap '' TERM; while :; do sleep 0.2; done")].join(" "));
     if (starts === 1) setTimeout(() => { throw new Error("boom"); }, 50);`,
  );
  const procman = withPlugins(context, { "parent.mjs": text });
  const config = readFileSync(join(procman.folder, "procman.json"), "utf8");
  const pid = await started(procman);
  const begun = async (start: number): Promise<readonly number[]> => {
    const [, pids = ""] =
      /has started (.+)$/.exec(await procman.line(new RegExp(`plugin parent: ${start} has started`))) ?? [];
    return pids.split(" ").map(Number);
  };
  const over = (pids: readonly number[]) => eventually(() => (pids.some((each) => isAlive(each)) ? undefined : true));
  const noZombies = () =>
    eventually(() => (childrenOf(procman.helper("service")).some((each) => !isAlive(each)) ? undefined : true));
  const first = await begun(1);
  const second = await begun(2);
  await over(first);
  await noZombies();
  assert.deepEqual(second.map(isAlive), [true, true], "those of the new thread run");
  process.kill(procman.helper("service"), "SIGKILL");
  const third = await begun(3);
  await over(second);
  assert.deepEqual(third.map(isAlive), [true, true]);
  writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ ...JSON.parse(config), plugins: [] }));
  assert.equal((await command(procman.folder, ["reload"])).code, 0);
  await over(third);
  await noZombies();
  writeFileSync(join(procman.folder, "procman.json"), config);
  assert.equal((await command(procman.folder, ["reload"])).code, 0);
  const fourth = await begun(4);
  await assertUntouched(procman, pid);
  assert.equal(await procman.stop(), 0);
  assert.deepEqual(fourth.map(isAlive), [false, false]);
});

test("2.5 after a kill of the service its plugins are started again, with the same folders and processes", async (context) => {
  const text = setup(
    `const { readFileSync, writeFileSync } = await import("node:fs");
     let before = ""; try { before = readFileSync(folder + "/note", "utf8"); } catch {}
     writeFileSync(folder + "/note", before + "x"); log.info("start " + (before.length + 1));`,
  );
  const procman = withPlugins(context, { "keeps.mjs": text });
  const pid = await started(procman);
  await procman.line(/plugin keeps: start 1/);
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  await procman.line(/plugin keeps: start 2/);
  await assertUntouched(procman, pid);
  assert.equal(await eventually(() => readFileSync(join(procman.stateDir, "plugins/keeps/note"), "utf8")), "xx");
});

test("2.5 a plugin that ends the whole service is restarted at growing intervals, and processes continue", async (context) => {
  const procman = withPlugins(context, { "killer.mjs": setup(`process.kill(process.pid, "SIGKILL")`) });
  const pid = await started(procman);
  await procman.line(/plugin killer: .*procman's service has ended within a minute of its start; retrying in 1 s/);
  await procman.line(/plugin killer: .*procman's service has ended within a minute of its start; retrying in 2 s/);
  await assertUntouched(procman, pid);
});

test("a plugin gets the events of the first starts, though it is loaded after them", async (context) => {
  const early = setup(
    `events.on("process.state", ({ process }) => log.info("saw " + process.id + " " + process.status))`,
  );
  const procman = withPlugins(context, { "early.mjs": early });
  await procman.line(/plugin early: saw web running/);
});
