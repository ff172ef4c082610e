/** A console of JSON lines stays one, whichever parts of procman are killed. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { kill } from "../support/marked-processes.ts";
import { eventually } from "../support/procman-process.ts";

const NUMBERS = "n=0; while sleep 0.02; do n=$((n + 1)); echo line $n; done";
const PARTS = ["keeper", "service", "logger"] as const;
type Part = (typeof PARTS)[number];
const SETS: readonly (readonly Part[])[] = [
  ...PARTS.map((part) => [part]),
  ["keeper", "service"],
  ["keeper", "logger"],
  ["service", "logger"],
  PARTS,
];

/** All at the same moment. */
function killAll({ procman }: FaultRig, parts: readonly Part[]): void {
  const running = procman.parts();
  for (const pid of parts.flatMap((part) => running[part])) kill(pid);
}

for (const [name, args, file] of [
  ["on the terminal", [], "said.log"],
  ["in the file of a detached procman", ["--detached"], ".procman/load/logs/console.log"],
] as const)
  describe(`each line ${name} is JSON after a kill of`, { concurrency: 3 }, () => {
    for (const parts of SETS)
      for (const isBroken of parts.length < 3 ? [false, true] : [false])
        test(`${parts.join(" and ")}${isBroken ? ", with a configuration that is invalid by then" : ""}`, async (context) => {
          const folder = folderFor(context as TestContext);
          const processes = [
            { id: "n", cmd: NUMBERS, autostart: true },
            { id: "idle", cmd: "true" },
          ];
          const config = { logger: { console: true, format: "json" } };
          const rig = await startRig(context as TestContext, folder, processes, { config, args });
          const lines = (): readonly string[] =>
            existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").split("\n").filter(Boolean) : [];
          const written = (): number => lines().filter((line) => line.includes('"text":"line ')).length;
          const more = async (): Promise<void> => {
            const before = written();
            await eventually(() => written() > before + 20 || undefined);
          };
          await more();
          if (isBroken) writeFileSync(join(folder, "procman.json"), "{");
          for (let count = 0; count < 2; count += 1) {
            killAll(rig, parts);
            if (parts.length === 3) rig.procman.start();
            await rig.records();
            await more();
          }
          assert.deepEqual(await rig.procman.end(), []);
          for (const line of lines()) assert.doesNotThrow(() => JSON.parse(line), line);
        });
  });

test("a service that is killed before it has read the configuration leaves no line of text", async (context) => {
  const folder = folderFor(context as TestContext);
  const config = { logger: { console: true, format: "json" } };
  const { procman } = await startRig(context as TestContext, folder, [{ id: "idle", cmd: "true" }], { config });
  assert.deepEqual(await procman.end(), []);
  procman.start();
  kill(await eventually(() => procman.parts().service[0]));
  await procman.answered();
  assert.deepEqual(await procman.end(), []);
  const lines = readFileSync(join(folder, "said.log"), "utf8").split("\n").filter(Boolean);
  assert.ok(lines.some((line) => line.includes("the service ended (SIGKILL)")));
  for (const line of lines) assert.doesNotThrow(() => JSON.parse(line), line);
});
