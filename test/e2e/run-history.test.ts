/** The runs of a process, by `procman why`, API and client: docs/guide/crashes.md. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { connectTo } from "../../src/client/connection/connect.ts";
import { type Location, locate } from "../../src/core/config/find-config.ts";
import type { RunSummary } from "../../src/core/contract/run-summary.ts";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const SETTLE = { restart: "always", restartDelayMs: 0, restartLimit: 3 };
const TIME = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)`;

test("why has a table of the last runs, the present one first, even when procman is down; the API has all of them by pages", async (context) => {
  const { folder } = homeOf(context, [
    { id: "web", ...SLEEPER },
    { id: "crash", cmd: "sleep 0.1; exit 3", autostart: true, ...SETTLE },
    { id: "pair", ...SLEEPER, cluster: { instances: 2 } },
  ]);
  await procman(folder, ["run", "--detach"]);
  for (const id of ["web", "pair"]) assert.equal((await procman(folder, ["restart", id])).code, 0);
  const web = await procman(folder, ["why", "web"]);
  assert.equal(web.code, 0);
  const rows = String.raw`\n\nRUN  STARTED +LASTED  HOW IT ENDED\n  2  ${TIME} +[\d.]+ m?s  is running\n  1  ${TIME} +[\d.]+ m?s  was stopped by cli; it was killed by SIGTERM after .*\n$`;
  assert.match(web.out, new RegExp(rows));
  const pair = await procman(folder, ["why", "pair", "-n", "1"]);
  assert.equal(pair.out.match(/^ {2}2 .* is running$/gm)?.length, 2, pair.out);
  const client = await connectTo(locate(undefined, folder) as Location);
  const ends = async (): Promise<readonly RunSummary[]> => (await client.runs("crash")).runs;
  while ((await ends()).length < 4);
  const pages = [await client.runs("crash", { limit: 3 })];
  pages.push(await client.runs("crash", { limit: 3, cursor: pages[0]?.next ?? "" }));
  const runs = pages.flatMap((page) => page.runs);
  assert.deepEqual(
    runs.map(({ run, cause, code }) => [run, cause, code]),
    [4, 3, 2, 1].map((run) => [run, "exit", 3]),
  );
  for (const { started = "", ended = "", durationMs = 0 } of runs) {
    assert.equal(durationMs, Date.parse(ended) - Date.parse(started));
    assert.ok(durationMs >= 90, String(durationMs));
  }
  const { runs: shown } = JSON.parse((await procman(folder, ["why", "crash", "-n", "9", "--json"])).out) as {
    readonly runs: readonly RunSummary[];
  };
  assert.deepEqual(shown, runs, "the command has the same");
  assert.deepEqual(
    (await client.runs("all", { limit: 1_000 })).runs.map(({ process }) => process).sort(),
    ["crash", "pair-1", "pair-1", "pair-2", "pair-2", "web", "web"].flatMap((id) =>
      id === "crash" ? [id, id, id, id] : [id],
    ),
  );
  await procman(folder, ["terminate"]);
  const past = await procman(folder, ["why", "web"]);
  assert.equal(past.code, 69);
  assert.match(
    past.out,
    /\n\nRUN .*\n {2}2 .* was stopped with procman \(.*\); it was killed by SIGTERM after .*\n {2}1 .* was stopped by cli; .*\n$/,
  );
  const line = `stty cols 80; "${process.execPath}" "${BIN}" why web; true`;
  const narrow = execFileSync("script", ["-qec", line, "/dev/null"], {
    cwd: folder,
    env: cleanEnvironment({}),
    encoding: "utf8",
  });
  const [, table = ""] = narrow.replaceAll("\r", "").split(/(?=^RUN )/m);
  assert.match(
    table,
    new RegExp(
      String.raw`^RUN  STARTED +LASTED  HOW IT ENDED\n  2  ${TIME} +[\d.]+ m?s\n     was stopped with procman`,
    ),
  );
  assert.ok(
    table.split("\n").every((row) => row.startsWith("procman: ") || row.length <= 80),
    table,
  );
  const stored = JSON.parse((await procman(folder, ["why", "crash", "-n", "9", "--json"])).out) as {
    readonly runs: readonly RunSummary[];
  };
  assert.deepEqual(stored.runs, runs, "and so has the state folder");
});
