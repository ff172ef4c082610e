/** Ports that a reload moves from one process to another. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { procman as cli } from "../support/cli.ts";
import { api, ask } from "../support/cluster-rig.ts";
import { freePort } from "../support/free-ports.ts";
import { eventually, startProcman } from "../support/procman-process.ts";

const SERVER = fileURLToPath(new URL("../programs/end-slowly.js", import.meta.url));

test("a port moves to another process, and two swap theirs: who takes a port starts when its holder has ended, as plan says", async (context) => {
  const [one, two] = [await freePort(), await freePort()];
  const server = (id: string, port: number) => ({ id, cmd: `node ${SERVER} ${port}`, autostart: true });
  const named = (id: string, port: number) => ({
    ...server(id, port),
    cmd: `exec node ${SERVER} $PORT`,
    env: { PORT: String(port) },
  });
  const procman = await startProcman(context, [server("api", one), server("web", two)]);
  const serving = (port: number): Promise<number> => eventually(() => ask(port).catch(() => undefined));
  await Promise.all([serving(one), serving(two)]);
  const reload = async (...processes: readonly object[]): Promise<string> => {
    writeFileSync(join(procman.folder, "procman.json"), JSON.stringify({ processes }));
    const plan = await cli(procman.folder, ["plan"]);
    const { code, out, err } = await cli(procman.folder, ["reload"]);
    assert.deepEqual([code, out.trim()], [0, plan.out.trim()], err);
    return out;
  };
  const isRun = async (id: string, number: number, port: number): Promise<void> => {
    const { run, pid } = await (await api({ procman })).process(id);
    assert.deepEqual([run, pid], [number, await serving(port)], id);
  };

  const swapped = await reload(server("api", two), named("web", one));
  assert.match(swapped, new RegExp(`api +restart .*starts when "web" has ended, which has port ${two}`));
  assert.match(swapped, new RegExp(`web +restart .*starts when "api" has ended, which has port ${one}`));
  await isRun("api", 2, two);
  await isRun("web", 2, one);

  const moved = await reload(server("api", two), named("mail", one));
  assert.match(moved, new RegExp(`mail +start .*starts when "web" has ended, which has port ${one}`));
  await isRun("api", 2, two);
  await isRun("mail", 1, one);
});
