/** Changes of the configuration file that are not applied: `status` and the API say so. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, procman, SLEEPER } from "../support/cli.ts";

const CHANGED =
  /\nprocman\.json has changes that are not applied: "procman plan" shows them, "procman reload" applies them\n$/;

test("status says at its end that the file has changes that are not applied, until they are, or are undone", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER }]);
  const write = (...processes: readonly object[]): void =>
    writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "test", processes }));
  const status = async (): Promise<string> => (await procman(folder, ["status"])).out;
  await procman(folder, ["run", "--detach"]);
  assert.doesNotMatch(await status(), /not applied/);
  write({ id: "web", ...SLEEPER, env: { A: "1" } });
  assert.match(await status(), CHANGED);
  assert.match(await status(), CHANGED, "also when nothing has changed since");
  write({ id: "web", ...SLEEPER });
  assert.doesNotMatch(await status(), /not applied/);
  write({ id: "web", ...SLEEPER }, { id: "job", cmd: "true" });
  assert.match(await status(), CHANGED, "a process that starts by hand, too");
  await procman(folder, ["reload"]);
  assert.doesNotMatch(await status(), /not applied/);
  writeFileSync(join(folder, "procman.json"), '{ "name": "test", "processes": [{}] }');
  assert.match(await status(), /\nprocman\.json is not valid: "procman plan" shows why; what runs stays as it is\n$/);
});

test("a cluster with another number of instances by request is no change of the file", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", ...SLEEPER, cluster: { instances: 1 } }]);
  await procman(folder, ["run", "--detach"]);
  await procman(folder, ["scale", "web", "2"]);
  assert.doesNotMatch((await procman(folder, ["status"])).out, /not applied/);
});
