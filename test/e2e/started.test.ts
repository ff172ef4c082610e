/** Commands that start processes end with 1 and say why one could not be started, and while its first run fails: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { RawProcess } from "../../src/core/config/config-schema.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";

const SERVER = fileURLToPath(new URL("../programs/serve-release.cjs", import.meta.url));
const sleeper = (more: object): RawProcess => ({ id: "a", ...SLEEPER, ...more });

for (const [what, more, why] of [
  ["an env file", { envFile: "gone.env" }, /gone\.env/],
  ["a variable", { env: { A: { env: "NOT_THERE_1" } } }, /NOT_THERE_1/],
  ["a secret", { env: { A: { file: "gone.secret" } } }, /gone\.secret/],
  ["its folder", { cwd: "gone" }, /gone/],
  ["its program", { cmd: "/gone/program" }, /program/],
  ["its hook's success", { hooks: { beforeStart: "exit 3" } }, /beforeStart/],
] as const)
  test(`a process that can't be started for lack of ${what}: run, start, restart and reload end with 1 and say so`, async (context) => {
    const { folder } = homeOf(context, [sleeper(more)]);
    const failed = async (...args: readonly string[]): Promise<void> => {
      const { code, out, err } = await procman(folder, args);
      assert.equal(code, 1, `${args.join(" ")}: ${out}${err}`);
      assert.match(`${err}${out}`, why, args.join(" "));
    };
    for (const wait of [[], ["--wait"]]) {
      await failed("run", "--detach", ...wait);
      await procman(folder, ["terminate"]);
    }
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [sleeper({ id: "b" })] }));
    assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({ name: "test", processes: [sleeper({ id: "b" }), sleeper(more)] }),
    );
    await failed("reload");
    await procman(folder, ["stop", "a"]);
    await failed("start", "a");
    await failed("restart", "a");
    await procman(folder, ["terminate"]);
  });

test("run --detach --wait waits until each instance serves: it gets connections, and its health check succeeds", async (context) => {
  for (const shape of [{ startPort: await freeRange() }, { mode: "share" }]) {
    const { folder } = homeOf(context, [
      {
        ...sleeper({ id: "web", cmd: `exec node ${SERVER}`, env: { RELEASE: '{"late":2500}' } }),
        cluster: { instances: 2, commonPort: await freePort(), ...shape },
      },
    ]);
    const began = performance.now();
    const { code, err } = await procman(folder, ["run", "--detach", "--wait"]);
    assert.equal(code, 0, err);
    assert.ok(performance.now() - began >= 2_500, `${performance.now() - began} ms`);
    await procman(folder, ["terminate"]);
    const sick = {
      ...sleeper({ id: "web", cmd: `exec node ${SERVER}`, env: { RELEASE: '{"sick":true}' } }),
      health: { http: "http://127.0.0.1:{port}/health", interval: 0.2, failures: 2 },
    };
    if (!("startPort" in shape)) continue;
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({ name: "test", processes: [{ ...sick, cluster: { instances: 2, ...shape } }] }),
    );
    assert.equal((await procman(folder, ["run", "--detach", "--wait"])).code, 1);
    await procman(folder, ["terminate"]);
  }
});

test("a health check that fails before the program listens doesn't count: a single answer of 500 restarts nothing", async (context) => {
  const port = await freePort();
  const answer =
    's.statusCode = n++ % 2 ? 200 : 500; s.end(); require("fs").appendFileSync("asked", s.statusCode + " ");';
  const flapping = `let n = 0; setTimeout(() => require("http").createServer((q, s) => { ${answer} }).listen(${port}), 250)`;
  const health = { http: `http://127.0.0.1:${port}/`, interval: 2, failures: 2 };
  const { folder } = homeOf(context, [
    // The first check may take a while on a busy machine.
    { ...sleeper({ cmd: `exec node -e '${flapping}'`, restart: "always" }), health, minUptimeMs: 1_900 },
  ]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  const asked = join(folder, "asked");
  await eventually(() => (existsSync(asked) && readFileSync(asked, "utf8").split(" ").length > 3) || undefined);
  assert.equal(readFileSync(asked, "utf8"), "500 200 500 ");
  const [record] = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly {
    readonly run: number;
    readonly restarts: number;
  }[];
  assert.deepEqual([record?.run, record?.restarts], [1, 0]);
  await procman(folder, ["terminate"]);
});

test("a start that fails for a port that only the lines of the program name says who has that port: add, start, restart, reload", async (context) => {
  const port = await freePort();
  const holder = createServer().listen(port, "127.0.0.1");
  await once(holder, "listening");
  context.after(() => holder.close());
  const { folder } = homeOf(context, [sleeper({ id: "b" }), sleeper({ autostart: false })]);
  const server = `node -e "require('http').createServer().listen(${port}, '127.0.0.1')"`;
  const failed = async (...args: readonly string[]): Promise<void> => {
    const { code, err } = await procman(folder, args);
    assert.equal(code, 1, `${args}: ${err}`);
    const held = new RegExp(`its port ${port} is in use by .+ \\(pid ${process.pid}\\)`, "g");
    assert.equal(err.match(held)?.length, 1, `${args}: ${err}`);
    assert.doesNotMatch(err, /procman why/, "what add has taken back is gone");
  };
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  await failed("add", "--id", "web", server);
  const web = { id: "a", cmd: server, autostart: true, minUptimeMs: 2_000, restartDelayMs: 100 };
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes: [sleeper({ id: "b" }), web] }));
  await failed("reload");
  await failed("restart", "a");
  await procman(folder, ["stop", "a"]);
  await failed("start", "a");
  await procman(folder, ["terminate"]);
});
