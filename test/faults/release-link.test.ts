/** The configuration lies behind a link (`current` → `releases/1`) that is switched while procman runs, as deployments do. */
import assert from "node:assert/strict";
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { procman as command, type Outcome } from "../support/cli.ts";
import {
  type FaultRig,
  folderFor,
  program,
  startRig,
  successor,
  verdictWithoutJournal,
  waitForGrowth,
} from "../support/fault-rig.ts";
import { eventually, processExit } from "../support/procman-process.ts";

const isUp = ({ status }: { readonly status: string }): boolean => status === "running";

type Releases = {
  readonly rig: FaultRig;
  readonly pid: number;
  readonly switchTo: (release: number) => void;
  /** Runs a command with the configuration behind the link. */
  readonly ask: (...args: readonly string[]) => Promise<Outcome>;
};

/** A printer runs from `current`, and a process whose program each release has anew. */
async function deployed(context: TestContext): Promise<Releases> {
  const folder = folderFor(context);
  const printer = {
    id: "print",
    cmd: program(folder, "printer", "print", 50_000, 20),
    autostart: true,
    restart: "always",
    logger: { stdout: join(folder, "logs/print.log") },
  };
  for (const release of [1, 2]) {
    mkdirSync(join(folder, `releases/${release}`), { recursive: true });
    const app = { id: "app", cmd: `cat app.txt; exec sleep ${1_000 + release}`, autostart: true, restart: "always" };
    writeFileSync(join(folder, `releases/${release}/app.txt`), `this is release ${release}\n`);
    writeFileSync(
      join(folder, `releases/${release}/procman.json`),
      JSON.stringify({ name: "load", processes: [printer, app] }),
    );
  }
  const switchTo = (release: number): void => {
    symlinkSync(`releases/${release}`, join(folder, "next"));
    renameSync(join(folder, "next"), join(folder, "current"));
  };
  switchTo(1);
  const config = ["--config", join(folder, "current/procman.json")];
  // This is the default for that file; the rig needs to know it.
  const env = { PROCMAN_STATE_DIR: join(folder, "current/.procman") };
  const rig = await startRig(context, folder, [printer], { env, args: config });
  const { pid = 0 } = await rig.until("print", isUp);
  return { rig, pid, switchTo, ask: (name, ...args) => command(folder, [name ?? "", ...config, ...args]) };
}

test("status, reload and upgrade through the link find procman immediately after each switch, forth and back, and terminate ends it", async (context) => {
  const { rig, pid, switchTo, ask } = await deployed(context);
  for (const release of [2, 1, 2]) {
    await waitForGrowth(rig, "print");
    switchTo(release);
    const status = await ask("status");
    assert.match(status.out, new RegExp(`print +running +${pid} `), `release ${release}: ${status.err}`);
    const reload = await ask("reload");
    assert.match(reload.out, /app +restart +its cmd has changed/, `release ${release}: ${reload.err}`);
    await rig.until("app", isUp);
    const upgrade = await ask("upgrade");
    assert.equal(upgrade.code, 0, upgrade.err);
    assert.equal((await rig.until("print", isUp)).pid, pid);
  }
  const end = await ask("terminate");
  assert.equal(end.code, 0, end.err);
  assert.deepEqual(await verdictWithoutJournal(rig), []);
});

for (const part of ["keeper", "service", "logger", "everything"] as const)
  test(`the link is switched forth and back, and each time this is killed: ${part}. The same process continues, and no line is lost`, async (context) => {
    const { rig, pid, switchTo } = await deployed(context);
    let loggersKilled = 0;
    for (const release of [2, 1, 2]) {
      await waitForGrowth(rig, "print");
      switchTo(release);
      // Once after procman has noticed the switch, else before that.
      if (release === 1) await eventually(() => rig.procman.keeper);
      if (/logger|everything/.test(part)) loggersKilled += 1;
      const before = rig.procman.parts();
      const killed = rig.killPart(part);
      if (part === "everything") {
        for (const each of killed) await processExit(each);
        // A part that was killed a moment after the keeper may have started another one.
        await rig.procman.revive(500);
      } else await successor(rig.procman, part, before[part]);
      assert.equal((await rig.until("print", isUp)).pid, pid);
      await waitForGrowth(rig, "print");
    }
    assert.deepEqual(await verdictWithoutJournal(rig, { loggersKilled }), []);
  });
