/** Every later service and keeper, and a reload, keep the profile of `run --profile`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { PlanRecord } from "../../src/core/contract/plan.ts";
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
  await eventually(() =>
    existsSync(endpoint) && !readFileSync(endpoint, "utf8").includes(`"pid":${service},`) ? true : undefined,
  );
  assert.ok(isAlive(pid));
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify(config({ id: "late", cmd: "sleep 1002", autostart: true })),
  );
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
  assert.match(
    out,
    /^With the profile "production"\.\n"procman reload --profile production" applies this; "procman reload" keeps/m,
  );
  const unknown = await cli(folder, ["plan", "--profile", "prod"]);
  assert.equal(unknown.code, 78);
  assert.match(unknown.err, /Found no profile "prod"; allowed: "staging", "production"/);
  const { profile } = JSON.parse((await cli(folder, ["reload", "--json"])).out) as PlanRecord;
  assert.equal(profile, "staging");
});

test("an unknown profile ends `run` before any process starts", async (context) => {
  const folder = folderWith(context, {
    processes: [{ id: "a", cmd: "true", autostart: true }],
    profiles: { production: {} },
  });
  const procman = new Procman(folder, { args: ["--profile=prodution"] });
  assert.equal((await procman.exit()).code, 78);
  assert.match(procman.lines.join("\n"), /procman\.json:1:\d+ profiles(?:\n.*)*Did you mean "production"\?/);
});

/** The table of `status` once it is so. */
async function statusWhen(folder: string, isSo: (table: string) => boolean): Promise<string> {
  for (const end = performance.now() + 60_000; ; ) {
    const { out } = await cli(folder, ["status"]);
    if (isSo(out)) return out;
    assert.ok(performance.now() < end, out);
  }
}

/** The service after this one. */
async function nextService(procman: Procman, killed: number): Promise<void> {
  process.kill(killed, "SIGKILL");
  await processExit(killed);
  await eventually(() => (serviceOf(procman) === killed ? undefined : true), { what: "the next service" });
}

function serviceOf({ stateDir }: Procman): number {
  return Number(/"pid":(\d+)/.exec(readFileSync(join(stateDir, "endpoint.json"), "utf8"))?.[1]);
}

test("reload --profile and --no-profile: it outlives kills of service and keeper, an upgrade and further reloads; a failed reload keeps it", async (context) => {
  const only = (id: string, cmd = "sleep 1001") => ({ id, cmd, autostart: true });
  const config = (...more: readonly object[]) => ({
    processes: [{ ...only("base"), cluster: { instances: 2 } }],
    profiles: {
      blue: { processes: [only("blue")] },
      green: { processes: [only("green"), ...more] },
      broken: { processes: [{ id: "base", cmd: "exit 3", restartLimit: 0 }] },
    },
  });
  const folder = folderWith(context, config());
  const procman = new Procman(folder, { args: ["--profile", "blue", "--watch-config"] });
  await procman.line(/blue +\| started/);
  const isGreen = (table: string): boolean =>
    /^green +running[\s\S]*^With the profile "green"\.$/m.test(table) && !/^blue /m.test(table);
  const switched = await cli(folder, ["reload", "--profile", "green"]);
  assert.deepEqual([switched.code, switched.err], [0, ""]);
  assert.match(switched.out, /^green +start +is new$[\s\S]*^With the profile "green"\.$/m);
  await statusWhen(folder, isGreen);
  assert.equal((await cli(folder, ["reload", "--profile", "broken"])).code, 1);
  const green = /^green +running +(\d+) /m.exec(await statusWhen(folder, isGreen))?.[1];
  for (const _ of [1, 2]) await nextService(procman, serviceOf(procman));
  await statusWhen(folder, isGreen);
  assert.equal((await cli(folder, ["upgrade"])).code, 0);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  assert.match(
    await statusWhen(folder, isGreen),
    new RegExp(`^green +running +${green} `, "m"),
    "it was never restarted",
  );
  assert.match((await cli(folder, ["plan"])).out, /^Nothing has changed .*\nWith the profile "green"\.\n$/);
  writeFileSync(join(folder, "procman.json"), JSON.stringify(config(only("late", "touch late; exec sleep 1001"))));
  await eventually(() => existsSync(join(folder, "late")) || undefined, { what: "--watch-config" });
  await statusWhen(folder, isGreen);
  assert.equal((await cli(folder, ["reload", "--no-profile"])).code, 0);
  const isPlain = (table: string): boolean =>
    /^base +running/m.test(table) && !/^(?:green|late|blue) |profile/m.test(table);
  await statusWhen(folder, isPlain);
  await nextService(procman, serviceOf(procman));
  await statusWhen(folder, isPlain);
  await procman.stopHolder();
});

test("the profile of a reload ends with procman: the next run has its own", async (context) => {
  const profileWith = (id: string) => ({ processes: [{ id, cmd: "sleep 1001", autostart: true }] });
  const folder = folderWith(context, {
    processes: [],
    profiles: { blue: profileWith("blue"), green: profileWith("green") },
  });
  const first = new Procman(folder, { args: ["--profile", "blue"] });
  await first.line(/blue +\| started/);
  assert.equal((await cli(folder, ["reload", "--profile", "green"])).code, 0);
  await first.stop();
  const second = new Procman(folder, { args: ["--profile", "blue"] });
  await second.line(/blue +\| started/);
  assert.match((await cli(folder, ["status"])).out, /^With the profile "blue"\.$/m);
  await second.stop();
});
