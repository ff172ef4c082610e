/** `Procman` in programs: with real processes, from the source, and in a separate program that dies. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { LogEntry } from "../../src/index.ts";
import { procman as command, homeOf, keeperIn } from "../support/cli.ts";
import { cleanEnvironment, eventually, isAlive, processExit } from "../support/procman-process.ts";
import { entryUrl, library } from "../support/product.ts";

const { ConfigurationError, Procman, ProcmanError } = await library();
const SLEEPER = { id: "web", cmd: "sleep 1000", autostart: true } as const;

/** A folder with the state of `name` in it; after the test its procman is ended. */
function projectFolder(context: TestContext, name = "mine"): { readonly folder: string; readonly state: string } {
  const { folder } = homeOf(context, []);
  const state = join(folder, `.procman/${name}/.procman/${name}`);
  context.after(async () => {
    const keeper = keeperIn(state);
    if (keeper === 0) return;
    process.kill(keeper, "SIGTERM");
    await processExit(keeper);
  });
  return { folder, state };
}

/** A program that runs procman, prints the pid of `web`, and waits. */
async function program(
  folder: string,
  options: object,
): Promise<{ readonly child: ReturnType<typeof spawn>; readonly web: number }> {
  const file = join(folder, "program.mjs");
  writeFileSync(
    file,
    `import { Procman } from ${JSON.stringify(entryUrl("index"))};
const procman = await Procman.run({ name: "mine", processes: [${JSON.stringify(SLEEPER)}] }, ${JSON.stringify(options)});
console.log((await procman.process("web")).pid);
setInterval(() => undefined, 1000);`,
  );
  const child = spawn(process.execPath, [file], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [text] = (await once(child.stdout, "data")) as [Buffer];
  const web = Number(String(text));
  assert.ok(web > 1, String(text));
  return { child, web };
}

test("run finds no procman that is dying: right after a kill of all its parts it starts another, which adopts the processes", async (context) => {
  const { folder } = projectFolder(context);
  const config = { name: "mine", processes: [SLEEPER] };
  let procman = await Procman.run(config, { cwd: folder });
  const { pid } = await procman.process("web");
  for (let round = 0; round < 5; round += 1) {
    const { parts } = await procman.state();
    const isKeeper = (part: (typeof parts)[number]): number => Number(part.part === "keeper");
    const pids = parts.toSorted((one, other) => isKeeper(one) - isKeeper(other)).map(({ pid: each }) => each);
    for (const each of pids) if (each > 1) process.kill(each, "SIGKILL");
    procman = await Procman.run(config, { cwd: folder });
    assert.equal((await procman.process("web")).pid, pid);
  }
  await procman.terminate();
});

test("patterns of the watcher begin at the folder of the program, and messages name files from there", async (context) => {
  const { folder } = projectFolder(context);
  mkdirSync(join(folder, "src/made"), { recursive: true });
  const texts: string[] = [];
  const procman = await Procman.run(
    { name: "mine", watcher: { interval: 300, skip: ["src/made"] }, processes: [{ ...SLEEPER, watch: ["src"] }] },
    { cwd: folder, onLine: ({ text }) => void texts.push(text) },
  );
  for (const file of ["src/made/out.js", "src/app.js"]) writeFileSync(join(folder, file), "");
  const reported = await eventually(() => texts.find((text) => /\.js/.test(text)));
  assert.match(reported, /(?<!\S)src\/app\.js/);
  assert.doesNotMatch(reported, /out\.js/);
  await procman.terminate();
});

test("the library runs a configuration object, controls it, and ends it", async (context) => {
  const { folder, state } = projectFolder(context);
  mkdirSync(join(folder, "app"));
  const procman = await Procman.run(
    {
      name: "mine",
      processes: [SLEEPER, { id: "where", cmd: "pwd > here; exec sleep 1000", cwd: "app", autostart: true }],
    },
    { cwd: folder },
  );
  assert.deepEqual([procman.name, procman.stateDir], ["mine", state]);
  const [web] = await procman.processes();
  assert.equal(web?.status, "running");
  assert.equal((await procman.stop("web")).status, "stopped");
  assert.ok(!isAlive(web?.pid ?? 0));
  assert.equal((await procman.start("web")).status, "running");
  assert.notEqual((await procman.restart("web")).pid, web?.pid);
  assert.equal((await procman.block("web")).blocked, true);
  assert.equal((await procman.unblock("web")).blocked, false);
  assert.equal((await procman.state()).name, "mine");
  await eventually(() => (existsSync(join(folder, "app/here")) ? true : undefined));
  await assert.rejects(
    procman.start("web"),
    (error) => error instanceof ProcmanError && error.code === "process-running",
  );
  await assert.rejects(procman.stop("wbe"), /Did you mean "web"/);
  assert.match((await command(folder, ["status", "--config", ".procman/mine/procman.json"])).out, /^web +running/m);
  await procman.terminate();
  assert.equal(keeperIn(state), 0);
  await assert.rejects(procman.processes(), (error) => error instanceof ProcmanError && error.code === "no-daemon");
});

test("the library types text and bytes into a process; a full pipe says how much it has taken", async (context) => {
  const { folder } = projectFolder(context);
  const reader = { id: "reader", cmd: "until [ -e go ]; do sleep 0.05; done; exec cat > got" };
  const processes = [{ ...reader, stdin: true, autostart: true, minUptimeMs: 50 }];
  const procman = await Procman.run({ name: "mine", processes }, { cwd: folder });
  await procman
    .start("reader")
    .catch((error: { readonly code: string }) => assert.equal(error.code, "process-running"));
  assert.deepEqual(await procman.send("reader", "grüß dich\n"), { process: "reader", bytes: 12 });
  assert.deepEqual(await procman.send("reader", Uint8Array.of(0, 255, 10)), { process: "reader", bytes: 3 });
  const many = "x".repeat(100_000);
  const full = await procman.send("reader", many).then(
    () => assert.fail("a pipe holds less"),
    (error: unknown) => error,
  );
  assert.ok(full instanceof ProcmanError && full.code === "input-full", String(full));
  const { taken = 0 } = full;
  writeFileSync(join(folder, "go"), "");
  const size = 15 + taken;
  const got = join(folder, "got");
  await eventually(() => (existsSync(got) && statSync(got).size >= size ? true : undefined));
  const expected = [Buffer.from("grüß dich\n"), Buffer.of(0, 255, 10), Buffer.from(many.slice(0, taken))];
  assert.deepEqual(readFileSync(got), Buffer.concat(expected));
  await procman.terminate();
});

test("the library runs with a profile; plan names it, and a reload keeps it", async (context) => {
  const { folder } = projectFolder(context);
  const profiles = {
    many: {
      processes: [
        { id: "web", env: { MANY: "yes" } },
        { ...SLEEPER, id: "more" },
      ],
    },
  };
  const procman = await Procman.run({ name: "mine", processes: [SLEEPER], profiles }, { cwd: folder, profile: "many" });
  assert.deepEqual(
    (await procman.processes()).map(({ id }) => id),
    ["web", "more"],
  );
  const [plan, reloaded] = [await procman.plan(), await procman.reload()];
  assert.deepEqual([plan.profile, reloaded.profile], ["many", "many"]);
  assert.ok(reloaded.processes.every(({ action }) => action === "none"));
  await assert.rejects(procman.plan({ profile: "none" }), { code: "configuration-invalid" });
  await procman.terminate();
});

test("7 a bad configuration starts nothing, and every problem is named", async (context) => {
  const { folder } = projectFolder(context);
  await assert.rejects(
    Procman.run({ name: "mine", processes: [{ id: "web" }, { id: "Web", cmd: "true" }] }, { cwd: folder }),
    (error) => error instanceof ConfigurationError && error.problems.length >= 2,
  );
  assert.ok(!existsSync(join(folder, ".procman")));
  await assert.rejects(
    Procman.run("none.json", { cwd: folder }),
    (error) => error instanceof ProcmanError && error.code === "configuration-missing",
  );
  await assert.rejects(
    Procman.connect(join(folder, "procman.json")),
    (error) => error instanceof ProcmanError && error.code === "no-daemon",
  );
});

test("a program that dies leaves procman and its processes to the next program", async (context) => {
  const { folder, state } = projectFolder(context);
  const { child, web } = await program(folder, {});
  const keeper = keeperIn(state);
  child.kill("SIGKILL");
  await once(child, "exit");
  const next = await program(folder, {});
  assert.deepEqual([next.web, keeperIn(state)], [web, keeper]);
  next.child.kill("SIGKILL");
  const connected = await Procman.connect(join(folder, ".procman/mine/procman.json"));
  assert.equal((await connected.process("web")).pid, web);
  await connected.terminate();
  await processExit(web);
});

test("with detached: false the processes end with the program, also when the program and the keeper were killed", async (context) => {
  const { folder, state } = projectFolder(context);
  const { child, web } = await program(folder, { detached: false });
  const first = keeperIn(state);
  assert.ok(first > 1);
  process.kill(first, "SIGKILL");
  const keeper = await eventually(() => {
    const now = keeperIn(state);
    return now > 1 && now !== first ? now : undefined;
  });
  assert.ok(isAlive(web));
  child.kill("SIGKILL");
  await processExit(keeper);
  await processExit(web);
});

test("onLine gets each line; lines that it takes over are not printed", async (context) => {
  const { folder } = projectFolder(context);
  const entries: LogEntry[] = [];
  const procman = await Procman.run(
    {
      name: "mine",
      processes: [{ id: "web", cmd: "for i in 1 2 3; do echo line $i; done; exec sleep 1000", autostart: true }],
    },
    { cwd: folder, onLine: (entry) => entries.push(entry) > 0 },
  );
  const texts = await eventually(() => {
    const lines = entries.filter(({ category }) => category === "stdout").map(({ text }) => text);
    return lines.length === 3 ? lines : undefined;
  });
  assert.deepEqual(texts, ["line 1", "line 2", "line 3"]);
  assert.ok(entries.some(({ category, process }) => category === "lifecycle" && process === "web"));
  const stored = await procman.logs({ processes: ["web"], categories: ["stdout"], order: "asc" });
  assert.deepEqual(
    stored.entries.map(({ text }) => text),
    texts,
  );
  await procman.terminate();
});

test("event listeners and onLine get the last lines of a procman that is terminated; log returns each line", async (context) => {
  const { folder } = projectFolder(context);
  const [lines, logged, ended]: [string[], string[], string[]] = [[], [], []];
  const cmd = "trap 'echo farewell; exit 0' TERM; echo hello; while :; do sleep 0.05; done";
  const procman = await Procman.run(
    { name: "mine", processes: [{ id: "web", cmd, autostart: true }] },
    { cwd: folder, onLine: ({ text }) => lines.push(text) },
  );
  procman.on("log", ({ entry }) => logged.push(entry.text)).on("end", () => ended.push("end"));
  await eventually(() => lines.includes("hello") || undefined);
  // The listener is connected later: repeated until it gets the event.
  while (logged.length === 0) await procman.restart("web");
  await procman.terminate();
  for (const texts of [lines, logged]) assert.ok(texts.includes("farewell"), texts.join("\n"));
  assert.deepEqual(ended, ["end"]);
});
