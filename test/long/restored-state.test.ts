/** The state folder is replaced by an older copy, or comes from another machine: nothing is started twice, no other program is touched. */
import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type FaultRig, folderFor, startRig } from "../support/fault-rig.ts";
import { eventually, isAlive } from "../support/procman-process.ts";

const isUp = ({ status }: { readonly status: string }): boolean => status === "running";
const starts = (folder: string): readonly string[] =>
  readFileSync(join(folder, "starts"), "utf8").split("\n").slice(0, -1);

async function start(
  context: TestContext,
): Promise<{ readonly rig: FaultRig; readonly folder: string; readonly pid: number }> {
  const folder = folderFor(context);
  const cmd = "echo $$ >> starts; exec sleep 1000";
  const rig = await startRig(context, folder, [{ id: "steady", cmd, autostart: true, restart: "always" }]);
  const { pid = 0 } = await rig.until("steady", isUp);
  return { rig, folder, pid };
}

async function killAll(rig: FaultRig): Promise<void> {
  rig.killPart("everything");
  await eventually(() => (rig.procman.parts().keeper.length === 0 ? true : undefined));
}

test("everything is killed, and the state folder replaced by a copy from before the last restart: the present run is adopted", async (context) => {
  const { rig, folder, pid: first } = await start(context);
  const [{ stateDir }, copy] = [rig.procman, join(folder, "copy")];
  cpSync(stateDir, copy, { recursive: true, filter: (path) => !/fifos\/|\.sock$/.test(path) });
  await rig.act("steady", "restart");
  const { pid } = await rig.until("steady", (record) => isUp(record) && record.pid !== first);
  await killAll(rig);
  rmSync(stateDir, { recursive: true });
  renameSync(copy, stateDir);
  rig.procman.start();
  assert.equal((await rig.until("steady", isUp)).pid, pid);
  assert.deepEqual(starts(folder), [String(first), String(pid)]);
  assert.deepEqual(
    (await rig.verdict()).filter((finding) => !/^run numbers/.test(finding)),
    [],
  );
});

test("a state folder of another machine: its pids are nobody's, and every process is started anew", async (context) => {
  const { rig, folder, pid: first } = await start(context);
  const { stateDir } = rig.procman;
  const copy = join(folder, "copy");
  cpSync(stateDir, copy, { recursive: true, filter: (path) => !/fifos\/|\.sock$/.test(path) });
  assert.deepEqual(await rig.verdict(), []);
  assert.ok(!isAlive(first));
  rmSync(stateDir, { recursive: true });
  renameSync(copy, stateDir);
  const boot = /^[0-9a-f-]{36}/;
  for (const name of ["run/journal", ...readdirSync(stateDir).filter((each) => /^lock\./.test(each))]) {
    const file = join(stateDir, name);
    const [head = "", ...rest] = readFileSync(file, "utf8").split("\n");
    const claim = JSON.parse(head) as { boot?: string; bootId?: string; pid?: number };
    for (const key of ["boot", "bootId"] as const)
      if (claim[key] !== undefined) claim[key] = claim[key].replace(boot, "00000000-0000-4000-8000-000000000000");
    // On this machine the pid is that of another program.
    if (claim.pid !== undefined) claim.pid = process.pid;
    writeFileSync(
      file,
      [JSON.stringify(claim), ...rest].join("\n").replaceAll(`"pid":${first}`, `"pid":${process.pid}`),
    );
  }
  rig.procman.start();
  const { pid } = await rig.until("steady", isUp);
  assert.deepEqual(starts(folder), [String(first), String(pid)]);
  assert.notEqual(pid, process.pid);
  await rig.procman.end();
  assert.ok(!isAlive(pid ?? 0));
});
