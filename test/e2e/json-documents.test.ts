/** `--json` is a contract: what every command prints has the shape that docs/reference/json.md shows. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { definedCommands } from "../../scripts/command-tables.ts";
import { ERROR_LINE, PRINTED, schemaOfPrinted, WITHOUT_DOCUMENT } from "../../scripts/json-documents.ts";
import { EXIT } from "../../src/core/base/errors.ts";
import type { JsonSchema } from "../../src/core/base/schema.ts";
import { faultsOf } from "../../src/core/base/schema-check.ts";
import { homeOf, type Outcome, procman, SLEEPER } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";

type Name = keyof typeof PRINTED;

/** Faults of a value for each of the shapes; empty: it has one of them. */
function faultsFor(value: unknown, schemas: readonly JsonSchema[]): readonly string[] {
  const all = schemas.map((schema) => faultsOf(value, schema, "it"));
  if (all.some((faults) => faults.length === 0)) return [];
  return all.flat().map(({ place, message }) => `${place} ${message}`);
}

/** Runs commands, and checks what they print against the page. */
function checker(context: TestContext) {
  const home = join(homeOf(context, []).folder, "home");
  const seen = new Map<Name, Set<string>>();
  const run = async (folder: string, words: string, name = words.split(" ")[0] as Name): Promise<Outcome> => {
    const [command, end] = words.split(" -- ");
    const args = [...(command ?? "").split(" "), "--json", ...(end === undefined ? [] : ["--", ...end.split(" ")])];
    const outcome = await procman(folder, args, { XDG_CONFIG_HOME: home });
    const printed = PRINTED[name] ?? assert.fail(`${name} has no document`);
    const isLines = printed[0]?.as === "lines";
    const values = isLines ? outcome.out.trimEnd().split("\n") : [outcome.out];
    for (const text of values.filter((each) => each !== "")) {
      const value = JSON.parse(text) as unknown;
      assert.deepEqual(faultsFor(value, printed.map(schemaOfPrinted)), [], `${words}: ${text}`);
      const kinds = seen.get(name) ?? new Set();
      seen.set(name, kinds.add(Array.isArray(value) ? "list" : "one"));
      assert.ok(!Array.isArray(value) || value.length > 0, `${words} printed an empty list`);
    }
    for (const line of outcome.err.split("\n").filter((each) => each.startsWith("{")))
      assert.deepEqual(faultsFor(JSON.parse(line), [ERROR_LINE]), [], `${words}: ${line}`);
    return outcome;
  };
  return { run, seen };
}

/** One of one host, that fails. */
async function rollouts(folder: string, run: ReturnType<typeof checker>["run"]): Promise<void> {
  writeFileSync(join(folder, "ops.token"), (await procman(folder, ["token", "--consumer", "ops"])).out, {
    mode: 0o600,
  });
  const { port } = JSON.parse(readFileSync(join(folder, ".procman/test/endpoint.json"), "utf8"));
  await run(folder, `host add near http://127.0.0.1:${port} --token-file ops.token --group ops`, "host add");
  assert.equal((await run(folder, "restart web --host @ops", "rollout status")).code, 0);
  assert.equal((await run(folder, "deploy /nowhere --on-host --host @ops", "rollout status")).code, 1);
  await run(folder, "rollout status", "rollout status");
  await run(folder, "restart web --host @ops --drain-command false", "rollout status");
  assert.equal((await run(folder, "rollout continue --drain-command true", "rollout continue")).code, 0);
  await run(folder, "restart web --host @ops --drain-command false", "rollout status");
  assert.equal((await run(folder, "rollout abort --drain-command true", "rollout abort")).code, 0);
  await run(folder, "host remove near", "host remove");
}

test("each command prints what the page says, in each of its shapes, and its errors are lines with a code", async (context) => {
  const startPort = await freeRange();
  const { folder } = homeOf(
    context,
    [
      {
        id: "web",
        ...SLEEPER,
        groups: ["front"],
        logger: { stdout: "web.log" },
        env: { A: "1", KEY: { env: "HOME" } },
        stdin: true,
      },
      {
        id: "pair",
        ...SLEEPER,
        cluster: { instances: 2, startPort },
        scale: { min: 2, max: 2, schedules: [{ cron: "0 3 * * *", max: 3 }] },
        groups: ["front"],
        reloadSignal: "SIGHUP",
      },
      { id: "job", cmd: "echo oops >&2; exit 3", restart: "error", restartLimit: 1, restartDelayMs: 100 },
      { id: "late", cmd: "true", cron: "0 3 * * *", terminate: "0 4 * * *", timeZone: "Europe/Berlin" },
      { id: "after", cmd: "sleep 1000", autostart: true, dependsOn: ["web"], minUptimeMs: 50 },
    ],
    { plugins: [] },
  );
  const { run, seen } = checker(context);
  await run(folder, "version");
  await run(folder, "validate");
  await run(folder, "validate --config nosuch.json");
  await run(folder, "status");
  assert.equal((await run(folder, "run --detach")).code, 0);
  for (const words of [
    "up",
    "status",
    "status web",
    // Only the records of this test: other tests run procmans, too.
    "status --all after",
    "list",
    "ports",
    "next",
    "show all",
    "show pair",
    "plan",
    "why pair",
    "why all",
  ])
    await run(folder, words);
  const failed = await run(folder, "start job late");
  assert.match(failed.err, /"code":"process-failed"/);
  for (const words of [
    "why job",
    "why web",
    "logs -n 50",
    "logs web pair --since 1h",
    "restart web",
    "restart pair",
    "stop after",
    "start after",
  ])
    await run(folder, words);
  for (const words of [
    "block web",
    "unblock web",
    "disable late",
    "enable late",
    "scale pair 3",
    "signal WINCH pair web",
    "send web hello",
  ])
    await run(folder, words);
  for (const words of ["exec web -- true", "exec web -- nosuch", "flush --yes web", "flush --yes", "dashboard"])
    await run(folder, words);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", processes: [{ id: "web", ...SLEEPER, env: { A: "2" } }], api: { exec: true } }),
  );
  for (const words of [
    "plan",
    "reload",
    "upgrade",
    "token --consumer ci",
    "token --consumer ops --process web --scope read --expire-in 60",
  ])
    await run(folder, words);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", processes: [{ id: "web", ...SLEEPER, reloadSignal: "SIGHUP", env: { A: "2" } }] }),
  );
  await run(folder, "reload");
  await run(folder, "reload web");
  await run(folder, "history", "history list");
  await run(folder, "history show active", "history show");
  await run(folder, "diff previous active");
  await run(folder, "rollback");
  const released = { id: "web", ...SLEEPER, cwd: "current" };
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", releases: {}, processes: [released] }));
  await run(folder, "reload");
  mkdirSync(join(folder, "build"));
  writeFileSync(join(folder, "build", "VERSION"), "1");
  await run(folder, "deploy ./build --dry-run");
  assert.equal((await run(folder, "deploy ./build --wait")).code, 0);
  await run(folder, "releases");
  await rollouts(folder, run);
  writeFileSync(join(folder, "procman.json"), '{ "processes": [{ "id": "web", "cmdd": "x" }] }');
  for (const words of ["validate", "plan", "reload"]) await run(folder, words);
  writeFileSync(join(folder, "Procfile"), "app: sleep 1000\nother: sleep 1000\n");
  await run(folder, "import Procfile --check");
  await run(folder, "import Procfile --config imported.jsonc --force");
  await run(folder, "terminate");
  assert.equal((await run(folder, "terminate")).code, 69);
  // What is known from disk.
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", processes: [{ id: "job", cmd: "exit 3" }] }),
  );
  for (const words of ["why job", "show job", "logs job"]) await run(folder, words);
  await run(folder, "host add far ssh://me@127.0.0.1:1 --no-check", "host add");
  await run(folder, "host list", "host list");
  // Its machine doesn't answer.
  await run(folder, "status --host all");
  await run(folder, "host remove far", "host remove");
  // Edits of the file.
  await run(folder, "init --force --id web --cmd true");
  await run(folder, "append --id mail --cmd false");
  await run(folder, "append --id mail --cmd false");
  await run(folder, "remove mail");
  await run(folder, "add --id more -- sleep 1000");
  await run(folder, "append --id even --cmd true --apply");
  await run(folder, "terminate --no-wait");
  await eventually(async () => (await procman(folder, ["status"])).code === EXIT.noDaemon || undefined);
  for (const [name, printed = []] of Object.entries(PRINTED)) {
    // Below.
    if (name === "install" || name === "uninstall") continue;
    const shapes = new Set(printed.map(({ as }) => (as === "list" ? "list" : "one")));
    assert.deepEqual(seen.get(name as Name), shapes, name);
  }
});

test("install and uninstall print a record of the unit", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  mkdirSync(join(folder, "bin"));
  // `crontab` of cron, for a file.
  const crontab =
    "#!/bin/sh\ncd FOLDER\ncase $1 in -l) cat tab 2>/dev/null || { echo 'no crontab for me' >&2; exit 1; } ;; -) cat >tab ;; esac\n";
  writeFileSync(join(folder, "bin/crontab"), crontab.replace("FOLDER", folder), { mode: 0o755 });
  const env = { XDG_CONFIG_HOME: join(folder, "config"), PATH: `${join(folder, "bin")}:${process.env.PATH}` };
  for (const command of ["install", "install", "uninstall"] as const) {
    const options = command === "install" ? ["--init", "cron"] : [];
    const { out, err } = await procman(folder, [command, "--user", ...options, "--json"], env);
    const faults = faultsFor(JSON.parse(out), (PRINTED[command] ?? []).map(schemaOfPrinted));
    assert.deepEqual([faults, err], [[], ""], `${command}: ${out}`);
  }
});

test("every command has a document or a reason to have none, and takes --json unless it prints no errors as data", async () => {
  const commands = (await definedCommands()).flatMap((command) =>
    command.commands.length === 0
      ? [command.name()]
      : command.commands.map((each) => `${command.name()} ${each.name()}`),
  );
  const known = new Set([...Object.keys(PRINTED), ...Object.keys(WITHOUT_DOCUMENT)]);
  assert.deepEqual(
    commands.filter((name) => !known.has(name)),
    [],
  );
  assert.deepEqual(
    Object.keys(PRINTED).filter((name) => name in WITHOUT_DOCUMENT),
    [],
  );
});
