/** The keeper is killed at a step of a short run, and its successor at a step of the take-over: no line is lost, and one incident tells the end. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import { folderFor, pointsIn, startRig } from "../support/fault-rig.ts";
import { eventually } from "../support/procman-process.ts";

const LINES = 20;
const FIRST = ["keeper.asked", "keeper.forked", "keeper.recorded", "keeper.exited", "keeper.over"] as const;
const SECOND = [
  "keeper.locked",
  "keeper.housed",
  "keeper.adopted",
  "keeper.took",
  "keeper.retold",
  "keeper.told",
  "logger.handing",
  "logger.handed",
  "service.loaded",
  "service.settled",
] as const;

describe("the keeper is killed twice around a short run, first at", { concurrency: 2 }, () => {
  for (const first of FIRST)
    test(first, async (context) => {
      const folder = folderFor(context as TestContext);
      const { env, arm, reached } = pointsIn(folder, [first, ...SECOND]);
      const short = {
        id: "short",
        cmd: `echo $PROCMAN_RUN_ID >> runs; for n in $(seq ${LINES}); do echo $PROCMAN_RUN_ID $n; done; exit 3`,
        logger: { stdout: "logs/short.log" },
      };
      // Its output keeps each logger until it has handed over: without anything to read, one whose keeper is gone ends
      // by itself.
      const lasting = { id: "lasting", cmd: "exec sleep 1000", autostart: true };
      const rig = await startRig(context as TestContext, folder, [short, lasting], { env });
      const lines = (file: string): readonly string[] =>
        existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean) : [];
      for (const second of SECOND) {
        arm(second);
        arm(first);
        await rig.act("short", "start");
        for (const point of [first, second]) await reached(point);
        const { run } = await rig.until("short", ({ status }) => status === "errored");
        const written = lines("runs").flatMap((run) =>
          Array.from({ length: LINES }, (_, index) => `${run} ${index + 1}`),
        );
        const logged = (): readonly string[] =>
          lines("logs/short.log").filter((line) => !line.includes("the logger was restarted"));
        await eventually(() => logged().length >= written.length || undefined).catch(() => undefined);
        assert.deepEqual(logged(), written, second);
        await rig.records();
        const answer = await rig.procman.api.ask("GET", "/processes/short/incidents?limit=100");
        assert.ok(answer !== undefined);
        const told = (answer.body as readonly Incident[]).filter((incident) => incident.run === run);
        assert.equal(told.length, 1, `${second}: ${JSON.stringify(told)}`);
        const [{ cause, pid, started }] = told as [Incident];
        assert.ok(
          cause === "unknown" || (pid !== undefined && started !== undefined),
          `${second}: ${JSON.stringify(told)}`,
        );
      }
      assert.deepEqual(await rig.procman.end(), []);
    });
});
