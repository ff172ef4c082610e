/** Real workers: asked to finish by a message, and harmless to procman whatever their scripts do. Spec 2.2. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, folderWith, isAlive, Procman, processExit } from "../support/procman-process.ts";

const LOGGER = { console: true };
/** A grace period that no test uses up. Seconds. */
const GRACE = 1_000;

/** Beside the worker `w` runs `other`, which must not be affected. */
async function worker(context: TestContext, script: string, fields: object = {}): Promise<Procman> {
  const processes = [
    { id: "w", worker: "w.mjs", autostart: true, terminateGracePeriod: GRACE, ...fields },
    { id: "other", cmd: "sleep 1000", autostart: true },
  ];
  const folder = folderWith(context, { logger: LOGGER, processes });
  writeFileSync(join(folder, "w.mjs"), script);
  const procman = new Procman(folder);
  await procman.line(/w +\| (?:started|.*exit|ended|.*code)/);
  await procman.line(/other +\| started/);
  return procman;
}

function pidOf(line: string): number {
  return Number(/\(pid (\d+)\)/.exec(line)?.[1] ?? assert.fail(line));
}

const SERVE =
  'import net from "node:net"; const server = net.createServer().listen(0, "127.0.0.1", () => console.log("up"));';

test("2.2 a worker is asked to finish by a message, and ends before any signal", async (context) => {
  const procman = await worker(
    context,
    `${SERVE} process.once("SIGTERM", () => console.log("a signal"));
     process.once("message", (message) => { console.log("told " + message); server.close(); setTimeout(() => console.log("done"), 100); });`,
  );
  await procman.line(/w +\| up/);
  assert.equal(await procman.stop(), 0);
  const output = procman.lines.join("\n");
  assert.match(output, /told drain\n(?:.*\n)*.*done/);
  assert.doesNotMatch(output, /a signal|killing/);
});

test("2.2 a worker without a listener is ended by SIGTERM after its grace period", async (context) => {
  const procman = await worker(context, SERVE, { terminateGracePeriod: 0.2 });
  await procman.line(/w +\| up/);
  assert.equal(await procman.stop(), 0);
  assert.ok(procman.lines.some((line) => /w +\| stopped \(SIGTERM\)/.test(line)));
});

test("2.2 without a grace period a worker gets SIGTERM at once, and no message", async (context) => {
  const procman = await worker(
    context,
    `${SERVE} process.on("message", () => console.log("a message")); process.on("SIGTERM", () => { console.log("a signal"); process.exit(); });`,
    { terminateGracePeriod: 0 },
  );
  await procman.line(/w +\| up/);
  assert.equal(await procman.stop(), 0);
  assert.match(procman.lines.join("\n"), /a signal/);
  assert.doesNotMatch(procman.lines.join("\n"), /a message/);
});

test("2.2 a command gets no message: it has its grace period, then SIGTERM", async (context) => {
  const folder = folderWith(context, {
    processes: [
      {
        id: "c",
        cmd: `exec ${process.execPath} -e 'setInterval(() => {}, 1000)'`,
        autostart: true,
        terminateGracePeriod: 0.3,
      },
    ],
  });
  const procman = new Procman(folder);
  const pid = pidOf(await procman.line(/c +\| started/));
  assert.doesNotMatch(readFileSync(`/proc/${pid}/environ`, "latin1"), /NODE_CHANNEL_FD/);
  assert.equal(await procman.stop(), 0);
});

test("a worker gets its message beside a readiness descriptor, and after a kill of the service", async (context) => {
  const procman = await worker(
    context,
    `import fs from "node:fs"; fs.writeSync(3, "\\n"); process.once("message", (message) => fs.writeFileSync("told", message));`,
    { ready: { fd: 3 } },
  );
  await procman.line(/w +\| ready after/);
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await procman.line(/the service ended/);
  const endpoint = join(procman.stateDir, "endpoint.json");
  await eventually(() =>
    existsSync(endpoint) && !readFileSync(endpoint, "utf8").includes(`"pid":${service},`) ? true : undefined,
  );
  assert.equal(await procman.stop(), 0);
  assert.equal(readFileSync(join(procman.folder, "told"), "utf8"), "drain");
});

test("workers of a killed keeper keep running, also those with no other listener, and get SIGTERM at once at the next stop", async (context) => {
  const procman = await worker(
    context,
    `import fs from "node:fs"; ${SERVE} process.on("message", () => undefined); process.on("disconnect", () => fs.writeFileSync("closed", ""));
     process.once("SIGTERM", () => { fs.writeFileSync("term", ""); process.exit(); });`,
  );
  await procman.line(/w +\| up/);
  const pid = pidOf(await procman.line(/w +\| started/));
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  await eventually(() => (existsSync(join(procman.folder, "closed")) ? true : undefined));
  assert.ok(isAlive(pid));
  await procman.stopHolder();
  await processExit(pid);
  assert.ok(existsSync(join(procman.folder, "term")));
});

test("a worker that has closed its channel gets SIGTERM at once", async (context) => {
  const procman = await worker(context, `${SERVE} process.disconnect(); setTimeout(() => console.log("closed"), 50);`);
  await procman.line(/w +\| closed/);
  assert.equal(await procman.stop(), 0);
});

for (const [what, script, output] of [
  ["throws when it is loaded", 'throw new Error("no luck");', /w +\| exited with code 1 after .*; restart 2/],
  ["can't be read as a module", "const = ;", /w +\| exited with code 1 after .*; restart 2/],
  [
    "throws in a promise",
    'await Promise.reject(new Error("no luck"));',
    /w +\| exited with code 1 after .*; restart 2/,
  ],
  ["ends at once", "process.exit(3);", /w +\| exited with code 3 after .*; restart 2/],
  ["kills itself", 'process.kill(process.pid, "SIGKILL");', /w +\| .*SIGKILL.*; restart 2/],
] as const)
  test(`a worker that ${what} counts as ended, and nothing else is touched`, async (context) => {
    const procman = await worker(context, script);
    await procman.line(output);
    const other = pidOf(await procman.line(/other +\| started/));
    assert.ok(isAlive(other));
    assert.equal(await procman.stop(), 0);
  });

test("a worker that exhausts its memory is ended by its own Node, and restarts", async (context) => {
  const procman = await worker(context, "const all = []; for (;;) all.push(new Array(1e5).fill({}));", {
    env: { NODE_OPTIONS: "--max-old-space-size=40" },
    restart: "error",
    restartLimit: 1,
    restartDelayMs: 0,
  });
  await procman.count(/w +\| started/, 2);
  await procman.line(/w +\| (?:.*SIGABRT|.*SIGTRAP|exited with code 134).*; its one restart is used up/);
  assert.equal(await procman.stop(), 0);
});

test("messages of a worker (odd, huge, many, with descriptors) don't let procman grow", async (context) => {
  const procman = await worker(
    context,
    `import net from "node:net"; import fs from "node:fs";
     for (const odd of [null, 0, "", "drain", { cmd: "NODE_HANDLE" }, { cmd: "NODE_x" }, [[{}]]]) process.send(odd, () => undefined);
     fs.writeSync(Number(fs.readdirSync("/proc/self/fd").find((fd) => { try { return fd > 2 && fs.readlinkSync("/proc/self/fd/" + fd).startsWith("socket") } catch { return false } })), "no json\\n{{{\\0\\n");
     const huge = "x".repeat(1e6);
     let sent = 0;
     for (let i = 0; i < 40; i++) process.send(huge, () => { sent += 1; if (sent === 10) console.log("sent 10 MB"); });
     process.once("message", () => process.exit());`,
  );
  const { pid } = procman;
  const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  const before = rss();
  await procman.line(/w +\| sent 10 MB/);
  assert.ok(rss() - before < 20_000, `${rss() - before} kB more`);
  assert.equal(await procman.stop(), 0);
});

test("a worker that blocks its event loop gets no message; SIGTERM ends it, or SIGKILL if it has a listener for SIGTERM", async (context) => {
  const procman = await worker(
    context,
    'process.on("SIGTERM", () => undefined); process.on("message", () => undefined); console.log("blocks"); for (;;);',
    {
      terminateGracePeriod: 0.1,
      terminateTimeout: 0.2,
    },
  );
  await procman.line(/w +\| blocks/);
  assert.equal(await procman.stop(), 0);
  await procman.line(/w +\| did not end within 200 ms of SIGTERM; killing it/);
});

test("a missing script can't be started, which is reported once", async (context) => {
  const folder = folderWith(context, {
    processes: [
      { id: "w", worker: "none.mjs", autostart: true, restart: "always" },
      { id: "other", cmd: "sleep 1000", autostart: true },
    ],
  });
  const procman = new Procman(folder);
  await procman.line(/w +\| could not be started: there is no file .*none\.mjs; correct "worker"/);
  await procman.line(/other +\| started/);
  assert.equal(await procman.stop(), 0);
});

test("a worker in TypeScript runs with its own loader, and is asked to finish", async (context) => {
  const folder = folderWith(context, {
    logger: LOGGER,
    processes: [
      {
        id: "w",
        worker: ["w.mts", "one"],
        autostart: true,
        terminateGracePeriod: GRACE,
        env: { NODE_OPTIONS: `--import ${import.meta.resolve("tsx")}` },
      },
    ],
  });
  const script =
    'const word: string = process.argv[2] as string; process.once("message", () => console.log("told")); console.log(word);';
  writeFileSync(join(folder, "w.mts"), script);
  const procman = new Procman(folder);
  await procman.line(/w +\| one/);
  assert.equal(await procman.stop(), 0);
  assert.match(procman.lines.join("\n"), /told/);
});
