/** `procman upgrade` of a running procman: docs/reference/reliability.md. Versions are copies of the built one with another number, or with a defect. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import type { UpgradeReport } from "../../src/core/ipc/upgrade-protocol.ts";
import { homeOf, keeperIn } from "../support/cli.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";
import { prepend, run, type Version, version } from "../support/versions.ts";

/** Prints `ID N …` as fast as possible, a thousand lines a write, each with a multi-byte character. */
const PRINTER = `const { writeSync } = require("node:fs");
for (let n = 0; ; ) {
  let text = "";
  for (let i = 0; i < 1000; i++) text += \`\${process.argv[2]} \${++n} \${"x".repeat(60)}é\\n\`;
  for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(1, bytes));
}`;

function endpointIn(state: string): Endpoint {
  return JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint;
}

/** Sends requests to the API all the time. The returned function stops that, and returns the longest time without an answer. Milliseconds. */
function measureOutage({ hostname, port }: Endpoint): () => Promise<number> {
  let [goesOn, longest, last] = [true, 0, performance.now()];
  const asking = (async () => {
    while (goesOn) {
      // 401, as there is no token; it is an answer.
      const answered = await fetch(`http://${hostname}:${port}/state`).then(
        async ({ status, body }) => {
          await body?.cancel();
          return status === 401;
        },
        () => false,
      );
      if (answered) {
        longest = Math.max(longest, performance.now() - last);
        last = performance.now();
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
  return async () => {
    goesOn = false;
    await asking;
    return Math.max(longest, performance.now() - last);
  };
}

/** All complete lines of a log. */
function checkLines(file: string, id: string): number {
  let expected = 0;
  const lines = readFileSync(file, "latin1").split("\n");
  for (const line of lines.slice(0, -2)) {
    expected += 1;
    if (line !== `${id} ${expected} ${"x".repeat(60)}Ã©`)
      assert.fail(`${id}: line ${expected} is ${JSON.stringify(line.slice(0, 200))}`);
  }
  return expected;
}

async function waitForGrowth(file: string, bytes: number): Promise<void> {
  const size = (): number => (existsSync(file) ? readFileSync(file).length : 0);
  const from = size();
  await eventually(() => (size() >= from + bytes ? true : undefined));
}

function homeWithPrinters(
  context: TestContext,
  ids: readonly string[],
): { readonly folder: string; readonly state: string } {
  const printers = ids.map((id) => ({
    id,
    cmd: `node printer.js ${id}`,
    autostart: true,
    logger: { stdout: `${id}.log` },
  }));
  const home = homeOf(context, [...printers, { id: "web", cmd: "sleep 1000", autostart: true }], {
    logger: { rotate: false },
  });
  writeFileSync(join(home.folder, "printer.js"), PRINTER);
  return home;
}

const pidsIn = async (installed: Version, folder: string): Promise<readonly number[]> =>
  (JSON.parse((await run(installed, folder, "status", "--json")).out) as readonly { readonly pid: number }[]).map(
    ({ pid }) => pid,
  );

test("service and logger are replaced under a flood of lines: same pids, every line once and complete, the API away for under a second; then the old version again", async (context) => {
  const { folder, state } = homeWithPrinters(context, ["a", "b"]);
  const [old, next] = [version(folder, "1.0.0"), version(folder, "1.1.0")];
  assert.equal((await run(old, folder, "run", "--detach")).code, 0);
  const pids = await pidsIn(old, folder);
  await waitForGrowth(join(folder, "a.log"), 1_000_000);
  const before = endpointIn(state);
  const away = measureOutage(before);
  const upgraded = await run(next, folder, "upgrade", "--json");
  const ms = await away();
  assert.equal(upgraded.code, 0, upgraded.err);
  const { steps, keeper } = JSON.parse(upgraded.out) as UpgradeReport;
  assert.deepEqual(
    steps.map(({ part, from, to, ok }) => ({ part, from, to, ok })),
    [
      { part: "service", from: "1.0.0", to: "1.1.0", ok: true },
      { part: "logger", from: "1.0.0", to: "1.1.0", ok: true },
    ],
  );
  assert.equal(keeper, "1.0.0");
  assertWithin(1_000, ms, "the change of the API's process");
  const { port, version: serving, keeper: holder } = endpointIn(state);
  assert.deepEqual({ port, serving, holder }, { port: before.port, serving: "1.1.0", holder: before.keeper });
  await processExit(before.pid);
  await waitForGrowth(join(folder, "a.log"), 1_000_000);
  assert.deepEqual(await pidsIn(next, folder), pids);
  const back = await run(old, folder, "upgrade");
  assert.deepEqual([back.code, endpointIn(state).version], [0, "1.0.0"], back.err);
  await waitForGrowth(join(folder, "a.log"), 1_000_000);
  assert.deepEqual(await pidsIn(old, folder), pids);
  assert.equal((await run(old, folder, "terminate")).code, 0);
  for (const id of ["a", "b"]) assert.ok(checkLines(join(folder, `${id}.log`), id) > 10_000);
});

for (const [what, name, code, problem] of [
  ["ends at once", "service.cjs", "process.exit(3);", /ended at once \(exit code 3\)/],
  [
    "ends in office",
    "service-main.cjs",
    'process.on("message", (batch) => batch.some(({ t }) => t === "snapshot") && process.exit(4));',
    /ended before it took over/,
  ],
] as const)
  test(`a new service that ${what}: the old one stays with the same processes and address, and the logger isn't touched`, async (context) => {
    const { folder, state } = homeWithPrinters(context, ["a"]);
    const old = version(folder, "1.0.0");
    const bad = version(folder, "1.1.0", (dist) => prepend(dist, name, code));
    assert.equal((await run(old, folder, "run", "--detach")).code, 0);
    const [pids, before] = [await pidsIn(old, folder), endpointIn(state)];
    const upgraded = await run(bad, folder, "upgrade");
    assert.equal(upgraded.code, 1);
    assert.match(upgraded.out + upgraded.err, problem);
    assert.doesNotMatch(upgraded.out, /logger/);
    const {
      port,
      version: serving,
      pid,
    } = await eventually(() => (isAlive(endpointIn(state).pid) ? endpointIn(state) : undefined));
    assert.deepEqual({ port, serving, pid }, { port: before.port, serving: "1.0.0", pid: before.pid });
    assert.deepEqual(await pidsIn(old, folder), pids);
    // The old service supervises again.
    process.kill(pids[1] ?? 0, "SIGKILL");
    await eventually(() => (isAlive(pids[1] ?? 0) ? undefined : true));
    const again = await run(old, folder, "status");
    assert.match(again.out, /^web +(?:running|starting|backoff)/m);
    assert.equal((await run(old, folder, "terminate")).code, 0);
    assert.ok(checkLines(join(folder, "a.log"), "a") > 1_000);
  });

test("a new logger that ends at once: the old one stays and no line is missing; the service is replaced", async (context) => {
  const { folder } = homeWithPrinters(context, ["a"]);
  const old = version(folder, "1.0.0");
  const bad = version(folder, "1.1.0", (dist) => prepend(dist, "logger.cjs", "process.exit(5);"));
  assert.equal((await run(old, folder, "run", "--detach")).code, 0);
  await waitForGrowth(join(folder, "a.log"), 1_000_000);
  const upgraded = await run(bad, folder, "upgrade");
  assert.equal(upgraded.code, 1);
  assert.match(upgraded.out + upgraded.err, /logger.*ended at once \(exit code 5\)/s);
  await waitForGrowth(join(folder, "a.log"), 1_000_000);
  assert.equal((await run(old, folder, "terminate")).code, 0);
  assert.ok(checkLines(join(folder, "a.log"), "a") > 10_000);
});

test("SIGUSR1 without a request replaces both by the version in the keeper's folder", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const installed = version(folder, "1.0.0");
  assert.equal((await run(installed, folder, "run", "--detach")).code, 0);
  const before = endpointIn(state);
  process.kill(keeperIn(state), "SIGUSR1");
  await processExit(before.pid);
  await eventually(() => (endpointIn(state).pid === before.pid ? undefined : true));
  assert.equal((await run(installed, folder, "terminate")).code, 0);
});

test("a service that ends repeatedly stays down: `status` says so, processes keep running, and `upgrade` brings a working one", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  const [old, good] = [version(folder, "1.0.0"), version(folder, "1.1.0")];
  assert.equal((await run(old, folder, "run", "--detach")).code, 0);
  const [[web = 0], { pid }] = [await pidsIn(old, folder), endpointIn(state)];
  prepend(old.folder, "service.cjs", "process.exit(3);");
  process.kill(pid, "SIGKILL");
  await eventually(() => (existsSync(join(state, "service-down")) ? true : undefined));
  const status = await run(old, folder, "status");
  assert.equal(status.code, 69);
  assert.match(status.err, /exit code 3\) 11 times in a row and stays down/);
  assert.ok(isAlive(web));
  const upgraded = await run(good, folder, "upgrade");
  assert.equal(upgraded.code, 0, upgraded.err);
  assert.deepEqual(await pidsIn(good, folder), [web]);
  assert.equal((await run(good, folder, "terminate")).code, 0);
});
