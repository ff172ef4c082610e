/** `procman upgrade`: its request to the keeper, and its report of the answer. */
import assert from "node:assert/strict";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";
import { fakeKeeper } from "../support/fake-keeper.ts";
import { isAlive } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const SERVICE = { part: "service", from: "1.0.0", to: "1.1.0", ok: true, ms: 120 };
const LOGGER = { part: "logger", from: "1.0.0", to: "1.1.0", ok: true, ms: 80 };

async function runUpgrade(context: TestContext, report: object, ...args: readonly string[]) {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state, report);
  const outcome = await procman(folder, ["upgrade", ...args]);
  for (const name of ["upgrade.json", "upgraded.json"]) assert.ok(!existsSync(join(state, name)), `${name} is removed`);
  assert.ok(isAlive(pid), "the keeper stays");
  return outcome;
}

test("upgrade prints a line for each replaced component; the keeper stays", async (context) => {
  const { code, out, err } = await runUpgrade(context, { ok: true, keeper: "1.0.0", steps: [SERVICE, LOGGER] });
  assert.deepEqual(
    { code, out, err },
    {
      code: 0,
      out: "service  1.0.0 → 1.1.0  replaced in 120 ms\nlogger   1.0.0 → 1.1.0  replaced in 80 ms\nkeeper   1.0.0          stays\n",
      err: "",
    },
  );
});

test("upgrade prints a notice of the keeper, which is not a failure", async (context) => {
  const notice = "the keeper is older than this version wants; restart procman when it suits you";
  const { code, err } = await runUpgrade(context, { ok: true, keeper: "1.0.0", steps: [SERVICE], notice });
  assert.deepEqual({ code, err }, { code: 0, err: `procman: ${notice}\n` });
});

test("if a component could not be replaced, upgrade prints the reason and that the old one keeps running; exit code 1", async (context) => {
  const steps = [SERVICE, { ...LOGGER, ok: false, problem: "it ended with exit code 70" }];
  const { code, out, err } = await runUpgrade(context, { ok: false, keeper: "1.0.0", steps });
  assert.equal(code, 1);
  assert.match(out, /^logger +1\.0\.0 → 1\.1\.0 +not replaced; the old one keeps running$/m);
  assert.equal(
    err,
    "procman: Cannot upgrade the logger to 1.1.0: it ended with exit code 70; the old one keeps running\n",
  );
});

test("upgrade --json prints the report; the request names Node and the folder of the programs", async (context) => {
  const { code, out } = await runUpgrade(context, { ok: true, keeper: "1.0.0", steps: [SERVICE] }, "--json");
  assert.equal(code, 0);
  const { request, ...report } = JSON.parse(out);
  assert.deepEqual(request, { id: report.id, node: process.execPath, folder: realpathSync(dirname(BIN)) });
  assert.deepEqual(report, { id: report.id, ok: true, keeper: "1.0.0", steps: [SERVICE] });
});

test("upgrade reports at once that the keeper ended without an answer", async (context) => {
  const { folder, state } = homeOf(context, []);
  const { pid } = await fakeKeeper(context, state, "end");
  const { code, err } = await procman(folder, ["upgrade"]);
  assert.equal(code, 1);
  assert.match(
    err,
    new RegExp(`^procman: Cannot upgrade: the keeper \\(pid ${pid}\\) has ended; "procman run" starts it again`),
  );
  assert.ok(!existsSync(join(state, "upgrade.json")));
});
