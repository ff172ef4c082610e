/** Another user's program on the port of an instance: no client and no probe gets its answer. procman itself is an ordinary user. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DRAINING_SERVER } from "../support/cluster-rig.ts";
import { freePort, freeRange } from "../support/free-ports.ts";
import { folderOf, type OtherUser, otherUser, runAs, sharedFolder, spawnAs } from "../support/other-user.ts";
import { eventually } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const RETRYING_SERVER = fileURLToPath(new URL("../programs/retry-listening.js", import.meta.url));
const STRANGER = "stranger";

/** Answers everything, as soon as the port is free, and takes it again whenever it is free. */
function takePort(
  context: TestContext,
  user: OtherUser,
  port: number,
): { readonly taken: Promise<unknown>; readonly end: () => void } {
  const code = `
    const server = require("http").createServer((request, response) => response.end("${STRANGER}\\n"));
    const listen = () => server.listen(${port}, "127.0.0.1", () => console.log("taken"));
    server.on("error", () => setTimeout(listen, 1));
    listen();`;
  const child = spawnAs(context, user, [process.execPath, "-e", code]);
  return { taken: new Promise((resolve) => child.stdout?.once("data", resolve)), end: () => child.kill("SIGKILL") };
}

type Running = { readonly lines: string[]; readonly ask: (...args: readonly string[]) => Promise<string> };

/** procman as a user, until the test ends. */
async function run(context: TestContext, user: OtherUser, processes: readonly object[]): Promise<Running> {
  let folder = "";
  const ask = async (...args: readonly string[]): Promise<string> => {
    const { out, err } = await runAs(user, [process.execPath, BIN, ...args], { cwd: folder, env: { HOME: folder } });
    return out + err;
  };
  // Registered first, so called first: before its folder is removed, and before it is killed, which would start it
  // again.
  context.after(() => ask("terminate"));
  folder = folderOf(user, join(sharedFolder(context), "home"), 0o755);
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
  const lines: string[] = [];
  const child = spawnAs(context, user, [process.execPath, BIN, "run"], { cwd: folder, env: { HOME: folder } });
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (text: Buffer) => lines.push(...text.toString().split("\n")));
  await eventually(() => lines.find((line) => / started \(pid/.test(line)));
  return { lines, ask };
}

function answer(port: number): Promise<string> {
  return new Promise((resolve) => {
    get({ port, host: "127.0.0.1", agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("end", () => resolve(text.trim())).once("error", () => resolve("error"));
    }).once("error", () => resolve("error"));
  });
}

test("clients of a cluster never get to another user's program on the port of an instance, and status names that user", async (context) => {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return;
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const stranger = takePort(context, nobody, startPort);
  await stranger.taken;
  const cluster = { instances: 2, startPort, commonPort };
  const procman = await run(context, daemon, [
    { id: "web", cmd: `node ${RETRYING_SERVER}`, autostart: true, restart: "always", cluster },
  ]);
  await eventually(() => procman.lines.find((line) => /web-1 .*runs, but its port .* is in use by/.test(line)));
  const answers = new Set<string>();
  for (let turn = 0; turn < 60; turn++) answers.add(await answer(commonPort));
  assert.equal(answers.has(STRANGER), false, [...answers].join());
  assert.match(
    await procman.ask("status"),
    new RegExp(`port ${startPort} is in use by a program of user ${nobody.uid}`),
  );
  stranger.end();
  for (const end = performance.now() + 20_000; answers.size < 2; answers.add(await answer(commonPort)))
    assert.ok(performance.now() < end);
  assert.equal(answers.has(STRANGER), false, [...answers].join());
});

test("a program of another user that takes the port during a restart gets no client", async (context) => {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return;
  const [commonPort, startPort] = [await freePort(), await freeRange()];
  const process = { cmd: `node ${DRAINING_SERVER}`, env: { LATE: "400" }, autostart: true, restart: "always" };
  const procman = await run(context, daemon, [
    { id: "web", ...process, cluster: { instances: 2, startPort, commonPort } },
  ]);
  await eventually(() =>
    procman.lines.filter((line) => /web-[12] .*started/.test(line)).length >= 2 ? true : undefined,
  );
  const stranger = takePort(context, nobody, startPort);
  const answers: string[] = [];
  let isOver = false;
  const clients = Array.from({ length: 4 }, async () => {
    while (!isOver) answers.push(await answer(commonPort));
  });
  await eventually(() => (answers.some((text) => /^\d+$/.test(text)) ? true : undefined));
  void procman.ask("restart", "web-1");
  await stranger.taken;
  await eventually(() => procman.lines.filter((line) => /web-1 .*exited with code 1/.test(line))[2]);
  isOver = true;
  await Promise.all(clients);
  assert.equal(answers.filter((text) => text === STRANGER).length, 0, `of ${answers.length} answers`);
});

test("a run is not ready or healthy by the answers of another user's program that is younger than the run", async (context) => {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return;
  const [port, page, checked] = [await freePort(), await freePort(), await freePort()];
  const common = { cmd: "sleep 600", autostart: true } as const;
  const procman = await run(context, daemon, [
    { ...common, id: "port", ready: { port, timeout: 600 } },
    { ...common, id: "page", ready: { http: `http://127.0.0.1:${page}/`, timeout: 600 } },
    { ...common, id: "checked", health: { http: `http://localhost:${checked}/`, interval: 1, failures: 1 } },
  ]);
  for (const each of [port, page, checked]) await takePort(context, nobody, each).taken;
  const held = (each: number): RegExp => new RegExp(`its port ${each} is in use by a program of user ${nobody.uid}`);
  for (let status = ""; ![port, page, checked].every((each) => held(each).test(status)); )
    status = await procman.ask("status");
  assert.equal(
    procman.lines.some((line) => /ready after/.test(line)),
    false,
  );
});
