/** The example of `npm start`, in a copy of its folder. */
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { procman as command, keeperIn } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { eventually, Procman } from "../support/procman-process.ts";

/** A copy of its folder, with the web server on this free port. */
async function quickstart(context: TestContext): Promise<{ readonly folder: string; readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), "procman-quickstart-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  cpSync(fileURLToPath(new URL("../../examples/quickstart", import.meta.url)), folder, { recursive: true });
  const port = await freePort();
  const config = join(folder, "procman.jsonc");
  writeFileSync(config, readFileSync(config, "utf8").replaceAll("8080", String(port)));
  return { folder, port };
}

test("the quickstart: a web server that restarts, a worker that crashes, a scheduled job, a pipeline into its log file", async (context) => {
  const { folder, port } = await quickstart(context);
  const procman = new Procman(folder);
  context.after(() => void procman.child.kill("SIGKILL"));
  const page = async (): Promise<string> => (await fetch(`http://127.0.0.1:${port}/`)).text();
  await procman.line(/web .*listening/);
  const first = await page();
  process.kill(Number(/process (\d+)/.exec(first)?.[1]), "SIGKILL");
  await procman.count(/web .*listening/, 2);
  assert.notEqual(await page(), first);
  await procman.line(/worker .*out of luck/);
  await procman.line(/worker .*exited with code 3.*restart 1 at once/);
  await procman.line(/heartbeat .*it is \d\d:\d\d/);
  const load = join(folder, "logs/load.log");
  assert.match(
    await eventually(() => (existsSync(load) ? readFileSync(load, "utf8") : "") || undefined),
    /Z .*LOAD AVERAGE/,
  );
  assert.equal(await procman.stop("SIGINT"), 0);
});

test("the quickstart in the background: all states are printed, the web server answers, `terminate` ends it", async (context) => {
  let state = "";
  context.after(() => {
    const keeper = keeperIn(state);
    if (keeper > 0) process.kill(keeper, "SIGTERM");
  });
  const { folder, port } = await quickstart(context);
  state = join(folder, ".procman/quickstart");
  const started = await command(folder, ["run", "--detach"]);
  assert.equal(started.code, 0, started.err);
  for (const id of ["web", "worker", "heartbeat", "pipeline"]) assert.match(started.out, new RegExp(`^${id} `, "m"));
  const web = join(folder, "logs/web.log");
  await eventually(() => (existsSync(web) && readFileSync(web, "utf8").includes("listening") ? true : undefined));
  assert.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /Hello from process/);
  const ended = await command(folder, ["terminate"]);
  assert.deepEqual(
    { code: ended.code, out: ended.out },
    { code: 0, out: "quickstart has ended, with its 4 processes\n" },
  );
  await assert.rejects(fetch(`http://127.0.0.1:${port}/`));
});
