/** Every later service and keeper, and a reload, keep the profile of `run --profile`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PlanRecord } from "../../src/contract/plan.ts";
import { procman as cli } from "../support/cli.ts";
import { eventually, folderWith, isAlive, Procman, processExit } from "../support/procman-process.ts";

test("a profile survives a kill of the service, a reload and a kill of the keeper", async (context) => {
  const config = (more: object) => ({
    processes: [{ id: "base", cmd: "sleep 1000", autostart: true }],
    profiles: { production: { processes: [{ id: "only", cmd: "sleep 1001", autostart: true }, more] } },
  });
  const folder = folderWith(context, config({ id: "base", restart: "always" }));
  const procman = new Procman(folder, { args: ["--profile", "production"] });
  const pid = Number(/\(pid (\d+)\)/.exec(await procman.line(/only +\| started/))?.[1]);
  const endpoint = join(procman.stateDir, "endpoint.json");
  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await eventually(() => (existsSync(endpoint) && !readFileSync(endpoint, "utf8").includes(`"pid":${service},`) ? true : undefined));
  assert.ok(isAlive(pid));
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config({ id: "late", cmd: "sleep 1002", autostart: true })));
  process.kill(procman.pid, "SIGHUP");
  await procman.line(/late +\| started/);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  assert.ok(isAlive(pid));
  await procman.stopHolder();
  await processExit(pid);
});

test("plan names its profile and shows the effect of another one; a reload keeps the profile of the run", async (context) => {
  const staging = { processes: [{ id: "web", cmd: "sleep 1001" }] };
  const production = { processes: [{ id: "extra", cmd: "sleep 1002", autostart: true }] };
  const folder = folderWith(context, {
    processes: [{ id: "web", cmd: "sleep 1000", autostart: true }],
    profiles: { staging, production },
  });
  const procman = new Procman(folder, { args: ["--profile", "staging"] });
  await procman.line(/web +\| started/);
  assert.equal((await cli(folder, ["plan"])).out, 'Nothing has changed (1 process).\nWith the profile "staging".\n');
  const { out } = await cli(folder, ["plan", "--profile", "production"]);
  assert.match(out, /^web +restart +its cmd has changed$/m);
  assert.match(out, /^extra +start +is new$/m);
  assert.match(out, /^With the profile "production"\.\n"procman reload" uses the profile that procman was run with/m);
  const unknown = await cli(folder, ["plan", "--profile", "prod"]);
  assert.equal(unknown.code, 78);
  assert.match(unknown.err, /Found no profile "prod"; allowed: "staging", "production"/);
  const { profile } = JSON.parse((await cli(folder, ["reload", "--json"])).out) as PlanRecord;
  assert.equal(profile, "staging");
});

test("an unknown profile ends `run` before any process starts", async (context) => {
  const folder = folderWith(context, { processes: [{ id: "a", cmd: "true", autostart: true }], profiles: { production: {} } });
  const procman = new Procman(folder, { args: ["--profile=prodution"] });
  assert.equal((await procman.exit()).code, 78);
  assert.match(procman.lines.join("\n"), /procman\.json:1:\d+ profiles(?:\n.*)*Did you mean "production"\?/);
});
