/** Checks that other tools only wait for: after an import, procman waits as well, where the program runs, and restarts nothing. */
import assert from "node:assert/strict";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman } from "../support/cli.ts";
import { folderOfFiles } from "../support/import-rig.ts";
import { PeerRig, WRITE_DOWN } from "../support/peer-rig.ts";

/** It succeeds long after the attempts of the file are used up. */
const CHECK = 'echo >> "$WRITTEN_DOWN/calls"; [ $(wc -l < "$WRITTEN_DOWN/calls") -ge 12 ]';

/** Stands in for docker: runs the check on this host, and writes down the words of `run`. */
const DOCKER = `#!/bin/sh
case $1 in
  run) exec node ${WRITE_DOWN} db "$@" ;;
  exec) shift 2; exec "$@" ;;
esac
`;

/** Imports the file, runs it until all is ready, and ends it. */
async function underProcman(context: TestContext, files: Readonly<Record<string, string>>): Promise<PeerRig> {
  const rig: PeerRig = new PeerRig(folderOfFiles(context, files, () => rig.end()));
  const [name = ""] = Object.keys(files);
  if (files["bin/docker"] !== undefined) chmodSync(join(rig.folder, "bin/docker"), 0o755);
  const imported = await procman(rig.folder, ["import", name]);
  assert.equal(imported.code, 0, imported.err);
  const env = { ...rig.environment("procman"), PATH: `${rig.folder}/bin:${process.env.PATH}` };
  const { code, out, err } = await procman(rig.folder, ["run", "--detach", "--wait"], env);
  assert.equal(code, 0, `${out}${err}`);
  await procman(rig.folder, ["terminate"]);
  return rig;
}

/** `db` was started once, and `app` when the check had succeeded. */
function assertWaited(rig: PeerRig): void {
  const starts = (name: string): number => rig.seen("procman", name).filter(({ args }) => args !== undefined).length;
  assert.deepEqual([starts("db"), starts("app")], [1, 1]);
  assert.ok(readFileSync(join(rig.folder, "procman/calls"), "utf8").length >= 12);
}

test("compose: a slow check of a program holds up what waits for it, and restarts nothing", async (context) => {
  const text = `services:
  db:
    build: .
    command: node ${WRITE_DOWN} db
    restart: always
    healthcheck: { test: ${JSON.stringify(CHECK.replaceAll("$", () => "$$"))}, interval: 100ms, retries: 1 }
  app: { build: ., command: "node ${WRITE_DOWN} app", depends_on: { db: { condition: service_healthy } } }
`;
  assertWaited(await underProcman(context, { "compose.yaml": text }));
});

test("compose: an image runs by docker with its arguments, and its check runs in the container", async (context) => {
  const text = `name: shop
services:
  db:
    image: mysql:8
    command: --port "33 06" $$HOME
    ports: ["3306:3306"]
    healthcheck: { test: [CMD-SHELL, ${JSON.stringify(CHECK.replaceAll("$", () => "$$"))}], interval: 100ms, retries: 1 }
  app: { build: ., command: "node ${WRITE_DOWN} app", depends_on: { db: { condition: service_healthy } } }
`;
  const rig = await underProcman(context, { "compose.yaml": text, "bin/docker": DOCKER });
  assertWaited(rig);
  assert.deepEqual(rig.seen("procman", "db")[0]?.args, [
    ...["run", "--rm", "--name", "shop-db", "-p", "3306:3306"],
    ...["mysql:8", "--port", "33 06", "$HOME"],
  ]);
});

test("process-compose: a slow readiness probe holds up what waits for it, and restarts nothing", async (context) => {
  const text = `processes:
  db:
    command: node ${WRITE_DOWN} db
    availability: { restart: always }
    readiness_probe: { exec: { command: ${JSON.stringify(CHECK.replaceAll("$", () => "$$"))} }, period_seconds: 1, failure_threshold: 1 }
  app: { command: "node ${WRITE_DOWN} app", depends_on: { db: { condition: process_healthy } } }
`;
  assertWaited(await underProcman(context, { "process-compose.yaml": text }));
});
