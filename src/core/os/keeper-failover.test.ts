import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stateDir } from "../../../test/support/store-rig.ts";
import { fromInstallationOf, startKeeper } from "./keeper-failover.ts";

test("a keeper that can't be started ends nothing: the caller tries again", async (context) => {
  const order = { env: {}, count: 0, since: 0, keeper: process.pid, lineage: "1" };
  const folder = stateDir(context);
  const missing = { ...order, argv: [`${folder}/node`] };
  // Node throws where it emits an error for a missing program.
  const tooLong = { ...order, argv: [process.execPath, "x".repeat(1 << 20)] };
  assert.equal(await startKeeper(missing, folder, new Map()), "failed");
  assert.equal(await startKeeper(tooLong, folder, new Map()), "failed");
  assert.equal(await startKeeper({ ...order, argv: [process.execPath, "-e", ""] }, folder, new Map()), "done");
});

test("a service starts the keeper of its own installation, which an upgrade may have changed", (context) => {
  const folder = stateDir(context);
  const orderOf = (...argv: readonly string[]) => ({ argv, env: {}, count: 0, since: 0, keeper: 1, lineage: "1 1" });
  const former = ["/old/node", "/old/dist/procman.cjs", "run", "--config", "/shop/procman.json"];
  const argvOf = (argv: readonly string[]): readonly string[] =>
    fromInstallationOf(join(folder, "service.cjs"), orderOf(...argv)).argv;
  assert.deepEqual(argvOf(former), former, "without a keeper beside it");
  writeFileSync(join(folder, "procman.cjs"), "");
  const own = join(folder, "procman.cjs");
  assert.deepEqual(argvOf(former), [process.execPath, own, "run", "--config", "/shop/procman.json"]);
  assert.deepEqual(argvOf(["/old/node", "--flag", ...former.slice(1)]), [
    process.execPath,
    "--flag",
    own,
    "run",
    ...former.slice(3),
  ]);
});
