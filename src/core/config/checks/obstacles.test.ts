/** What a start would lack here and now: found for `validate` and `plan`, and refused by a strict check. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";

function folderOf(context: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-obstacles-")));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const process = (more: object) => ({ id: "web", cmd: "sleep 1", autostart: true, ...more });

/** As `path message`, without the folder. A strict check refuses exactly these. */
function obstaclesOf(folder: string, ...processes: readonly object[]): readonly string[] {
  const text = JSON.stringify({ processes });
  const options = { file: join(folder, "procman.json"), looksAtFiles: true };
  const shown = ({ path, message }: { readonly path: string; readonly message: string }): string =>
    `${path} ${message.replaceAll(`${folder}/`, "")}`;
  const warnings = resolveConfiguration(text, options).warnings.map(shown);
  const strict = (): unknown => resolveConfiguration(text, { ...options, isStrict: true });
  if (warnings.length === 0) assert.doesNotThrow(strict);
  else
    assert.throws(strict, (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.deepEqual(error.problems.map(shown), warnings);
      return true;
    });
  return warnings;
}

test("a working folder that doesn't exist would fail a start", (context) => {
  const folder = folderOf(context);
  writeFileSync(join(folder, "file"), "");
  assert.deepEqual(obstaclesOf(folder, process({ cwd: "nope" }), process({ id: "mail", cwd: "file" })), [
    'processes[0].cwd Found "nope", but there is no folder nope; create it, or correct "cwd".',
    'processes[1].cwd Found "file", but file is not a folder; correct "cwd".',
  ]);
  mkdirSync(join(folder, "nope"));
  assert.deepEqual(obstaclesOf(folder, process({ cwd: "nope" })), []);
});

test("before the first release, the remedy is a deployment", (context) => {
  const file = join(folderOf(context), "procman.json");
  const text = JSON.stringify({ releases: {}, processes: [process({ cwd: "current/api" })] });
  assert.deepEqual(
    resolveConfiguration(text, { file, looksAtFiles: true }).warnings.map(({ message }) => message),
    [
      `Found "current/api", but there is no release yet; "procman deploy FOLDER" makes the first one, and until then "ln -s . ${join(dirname(file), "current")}" lets it run in the folder of that link.`,
    ],
  );
});

test("a program that is not in PATH, is missing or not executable would fail a start; hooks likewise", (context) => {
  const folder = folderOf(context);
  const script = join(folder, "start.sh");
  writeFileSync(script, "#!/bin/sh\n");
  assert.deepEqual(obstaclesOf(folder, process({ cmd: "no-such-program-x --a" })), [
    'processes[0].cmd Found "no-such-program-x --a", but there is no program "no-such-program-x" in its PATH; correct it, or add its folder to "path".',
  ]);
  assert.deepEqual(obstaclesOf(folder, process({ cmd: "./start.sh" }), process({ id: "mail", cmd: "./gone.sh" })), [
    'processes[0].cmd Found "./start.sh", but start.sh is not executable; "chmod +x ./start.sh" makes it so.',
    'processes[1].cmd Found "./gone.sh", but there is no file gone.sh; create it, or correct the command.',
  ]);
  assert.deepEqual(obstaclesOf(folder, process({ hooks: { beforeStart: "no-such-program-x" } })).length, 1);
  chmodSync(script, 0o755);
  assert.deepEqual(
    obstaclesOf(folder, process({ cmd: "./start.sh" }), process({ id: "mail", cmd: "start.sh", path: "." })),
    [],
  );
  assert.deepEqual(obstaclesOf(folder, process({ cmd: "no-such-program-x | sort" })), [], "only a shell can tell");
});

test("a variable that is not set would fail a start, unless an env file sets it", (context) => {
  const folder = folderOf(context);
  const web = process({ env: { KEY: "${PROCMAN_TEST_NOPE}" } });
  assert.deepEqual(obstaclesOf(folder, web), [
    'processes[0].env.KEY It can\'t start here: its variable KEY needs PROCMAN_TEST_NOPE, which is not set; set it in an "envFile" or where procman is started, or give a default: ${PROCMAN_TEST_NOPE:-…}.',
  ]);
  assert.deepEqual(obstaclesOf(folder, process({ env: { KEY: { env: "PROCMAN_TEST_NOPE" } } })).length, 1);
  writeFileSync(join(folder, ".env"), "PROCMAN_TEST_NOPE=1\n");
  assert.deepEqual(obstaclesOf(folder, { ...web, envFile: ".env" }), []);
  assert.equal(obstaclesOf(folder, { ...web, envFile: "gone.env" }).length, 1, "a missing file is told once");
});

test("a port that another program has would fail a start", async (context) => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const [first] = obstaclesOf(folderOf(context), process({ ready: { port } }));
  const held = new RegExp(
    `Found ${port}, which is in use by .+ \\(pid ${globalThis.process.pid}\\); stop it, or choose another port`,
  );
  assert.match(first ?? "", held);
  assert.match(first ?? "", /^processes\[0\]\.ready\.port /);
  const [byVariable] = obstaclesOf(folderOf(context), process({ env: { PORT: port } }));
  assert.match(byVariable ?? "", held);
  assert.match(byVariable ?? "", /^processes\[0\]\.env\.PORT /);
  const cluster = { instances: 2, startPort: port, commonPort: port === 20_000 ? 20_009 : 20_000 };
  const found = obstaclesOf(folderOf(context), process({ cluster }));
  assert.match(found.find((text) => text.includes("startPort")) ?? "", held);
});
