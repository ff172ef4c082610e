/** Whose answer comes from the port of a run. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { otherUser } from "../../../test/support/other-user.ts";
import { type PortOfRun, PortOwnership, type PortProblem } from "./port-ownership.ts";
import { isAlive, processStat } from "./process-stat.ts";

const MODULE = fileURLToPath(new URL("./port-ownership.ts", import.meta.url));
const STAT = fileURLToPath(new URL("./process-stat.ts", import.meta.url));

async function listening(context: TestContext, hostname: string, port = 0): Promise<number> {
  const server = createServer().listen({ port, host: hostname, ipv6Only: true });
  await once(server, "listening");
  context.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function program(port: number | string, hostname: string): string {
  return `const s = require("net").createServer().listen(${port}, "${hostname}", () => console.log(s.address().port))`;
}

type ListeningChild = { readonly child: ChildProcess; readonly pid: number; readonly port: number };

type ChildOptions = {
  readonly detached?: boolean;
  readonly port?: number;
  readonly hostname?: string;
  readonly uid?: number;
};

/** A child process that listens. */
async function listener(
  context: TestContext,
  { detached = false, port = 0, hostname = "127.0.0.1", ...as }: ChildOptions = {},
): Promise<ListeningChild> {
  const child = spawn(process.execPath, ["-e", program(port, hostname)], {
    detached,
    cwd: "/",
    stdio: ["ignore", "pipe", "inherit"],
    ...as,
  });
  const { pid = 0 } = child;
  assert.ok(pid > 1);
  context.after(() => child.kill("SIGKILL"));
  const [text] = await once(child.stdout as NodeJS.ReadableStream, "data");
  return { child, pid, port: Number(text) };
}

function problem(run: Omit<PortOfRun, "isOwn"> & Partial<PortOfRun>): PortProblem | undefined {
  return new PortOwnership({ isOwn: true, ...run }).problem;
}

function by(run: Omit<PortOfRun, "isOwn"> & Partial<PortOfRun>): string | undefined {
  const found = problem(run);
  return found?.t === "held" ? found.by : found?.t;
}

test("a process of the same user that answers in place of a run is foreign only if it is older than the run and not part of it", async (context) => {
  const [near, every, both] = [
    await listening(context, "127.0.0.1"),
    await listening(context, "0.0.0.0"),
    await listening(context, "::"),
  ];
  const [run, session] = [await listener(context), await listener(context, { detached: true })];
  for (const port of [near, every, both])
    assert.match(by({ port, leader: run.pid }) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
  assert.equal(by({ port: near, leader: process.pid }), undefined, "its own");
  assert.equal(by({ port: run.port, leader: run.pid }), undefined, "its own");
  for (const { port } of [run, session])
    assert.equal(by({ port, leader: process.pid }), undefined, "a child of the run");
  assert.equal(by({ port: session.port, leader: run.pid }), undefined, "born later: it may be of the run");
  assert.equal(by({ port: near, leader: run.pid, isOwn: false }), undefined, "others may answer for it");
  assert.equal(
    by({ port: await listening(context, "127.0.0.2"), leader: run.pid }),
    undefined,
    "a client of 127.0.0.1 does not reach it",
  );
});

test("a run that listens elsewhere on the port does not hide the program that answers at 127.0.0.1", async (context) => {
  const port = await listening(context, "127.0.0.1");
  const run = await listener(context, { port, hostname: "127.0.0.2" });
  assert.match(by({ port, leader: run.pid }) ?? "", new RegExp(` \\(pid ${process.pid}\\)$`));
});

test("a run whose leader has ended is never the one that answers, not even as a zombie", async (context) => {
  const port = await listening(context, "127.0.0.1");
  assert.equal(by({ port, leader: 5_000_000 }), "ended");
  const shell = spawn("sh", ["-c", "sleep 0 & exec sleep 600"], { stdio: "ignore" });
  const { pid = 0 } = shell;
  context.after(() => shell.kill("SIGKILL"));
  // Stopped, a parent doesn't wait for its child: that stays a zombie.
  const parent = spawn(
    process.execPath,
    [
      "-e",
      "const c = require('child_process').spawn('sleep', ['600']); console.log(c.pid); setInterval(() => {}, 1e6)",
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  context.after(() => parent.kill("SIGKILL"));
  const [text] = await once(parent.stdout, "data");
  const leader = Number(text);
  parent.kill("SIGSTOP");
  process.kill(leader, "SIGKILL");
  for (const end = performance.now() + 10_000; processStat(leader)?.state !== "Z"; await new Promise(setImmediate))
    assert.ok(performance.now() < end, "it is not a zombie");
  assert.equal(by({ port, leader }), "ended");
  assert.equal(new PortOwnership({ port, leader: pid, isOwn: false }).strangerOnly(), undefined);
});

test("a program of another user is foreign, also one that began after the run; one of the run's user isn't", async (context) => {
  const nobody = otherUser(context);
  if (nobody === undefined) return;
  const run = await listener(context);
  const { pid, port } = await listener(context, { uid: nobody.uid });
  for (const isOwn of [true, false])
    assert.match(by({ port, leader: run.pid, isOwn }) ?? "", new RegExp(` \\(pid ${pid}\\)$`));
  assert.equal(by({ port, leader: run.pid, uid: nobody.uid }), undefined);
  assert.equal(by({ port, leader: process.pid }), undefined, "a descendant of the run may change its user");
});

test("a port forwarder is not foreign", async (context) => {
  const port = await listening(context, "127.0.0.1");
  const { pid } = await listener(context);
  const { title } = process;
  context.after(() => {
    process.title = title;
  });
  process.title = "docker-proxy";
  assert.equal(by({ port, leader: pid }), undefined);
});

test("without a free file descriptor nothing is known about a port, and a process is not taken for dead", async (context) => {
  const port = await listening(context, "127.0.0.1");
  const { startTime = "" } = processStat(process.pid) ?? {};
  const code = `
    const { PortOwnership } = await import(${JSON.stringify(MODULE)});
    const { isAlive } = await import(${JSON.stringify(STAT)});
    const { openSync } = await import("node:fs");
    const asked = () => JSON.stringify([new PortOwnership({ port: ${port}, leader: process.pid, isOwn: true }).problem, isAlive(${process.pid}, ${JSON.stringify(startTime)})]);
    asked();
    const fill = () => { try { for (;;) openSync("/dev/null"); } catch {} };
    fill();
    await new Promise((resolve) => setTimeout(resolve, 30));
    // Node has closed some meanwhile.
    fill();
    const answer = asked();
    const { writeSync } = await import("node:fs");
    writeSync(1, answer);
    process.exit(0);`;
  const limited = spawn(
    "sh",
    ["-c", 'ulimit -n 80; exec "$0" "$@"', process.execPath, "--import", "tsx", "--input-type=module", "-e", code],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  context.after(() => limited.kill("SIGKILL"));
  let answer = "";
  limited.stdout.on("data", (text) => {
    answer += text;
  });
  await once(limited, "close");
  assert.deepEqual(JSON.parse(answer), [{ t: "unknown" }, true]);
  assert.equal(isAlive(process.pid, "0"), false);
});
