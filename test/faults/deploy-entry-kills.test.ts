/** The service is killed during a rollback to an entry of a deployment: its release is in use with its configuration, or nothing has changed. */
import assert from "node:assert/strict";
import { readFileSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { build, lines, over } from "../support/release-rig.ts";

const withMode = (mode: string) => ({
  id: "web",
  cwd: "current",
  cmd: "sh run.sh",
  autostart: true,
  minUptimeMs: 100,
  env: { MODE: mode },
});

const ENTRY_CASES = [false, true].flatMap((isBad) =>
  (isBad
    ? (["did-switch", "did-restart", "begun-switch-back", "did-switch-back", "did-restart-back"] as const)
    : (["begun-switch", "did-switch", "begun-restart", "did-restart", "did-clean"] as const)
  ).map((moment) => ({ point: `service.deploy-${moment}` as Failpoint, isBad })),
);

for (const { point, isBad } of ENTRY_CASES)
  test(`a rollback to an entry with another configuration${isBad ? ", which fails" : ""}, killed at ${point}`, async (context: TestContext) => {
    const folder = folderFor(context);
    const { env, arm, reached } = pointsIn(folder, [point]);
    const releases = { after: ["test ! -f ../../BAD || test ! -f ONE"] };
    const rig = await startRig(context, folder, [withMode("one")], {
      env,
      config: { releases, api: { exec: true } },
    });
    const file = join(folder, "procman.json");
    const text = (mode: string): string => readFileSync(file, "utf8").replace(/"MODE": "\w+"/, `"MODE": "${mode}"`);
    const one = build(folder, "one");
    writeFileSync(join(one, "ONE"), "");
    await rig.procman.api.ask("POST", "/deployments", { folder: one });
    assert.equal((await over(rig, 1)).result, "done");
    writeFileSync(file, text("two"));
    await rig.procman.api.ask("POST", "/deployments", { folder: build(folder, "two") });
    assert.equal((await over(rig, 2)).result, "done");
    const history = await rig.procman.api.ask("GET", "/history");
    const entry = history?.body.findLast(({ release }: { readonly release?: string }) => release !== undefined);
    if (isBad) writeFileSync(join(folder, "BAD"), "");
    arm(point);
    await rig.procman.api.ask("POST", `/rollback?to=${entry.number}`);
    await reached(point);
    const end = await over(rig, 3);
    const [result, mode] = isBad ? ["taken-back", "two"] : ["done", "one"];
    assert.equal(end.result, result, end.problem);
    assert.equal(readFileSync(file, "utf8"), text(mode));
    assert.deepEqual(lines(join(folder, "current/VERSION")), [mode]);
    const { pid } = await rig.until("web", ({ status }) => status === "running");
    assert.match(readFileSync(`/proc/${pid}/environ`, "utf8"), new RegExp(`MODE=${mode}`));
    assert.equal(readlinkSync(`/proc/${pid}/cwd`), realpathSync(join(folder, "current")));
    assert.deepEqual(await rig.verdict(), []);
  });
