/** Finding a running procman: docs/reference/cli.md, "Which file" and "By its name". */
import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { eventually, folderWith, isAlive } from "../support/procman-process.ts";

const web = { id: "web", cmd: "echo up; exec sleep 1000", autostart: true };

/** Other tests run procmans, too. */
let count = 0;
function uniqueName(): string {
  count += 1;
  return `by-name-${process.pid}-${count}`;
}

/** A procman that runs in the background, ended after the test. */
async function running(
  context: TestContext,
  name: string,
  stateFolder?: string,
): Promise<{ readonly folder: string; readonly file: string }> {
  // Registered first, so called first: before the folder is removed.
  context.after(async () => void (await procman("/", ["terminate", "--name", name])));
  const folder = folderWith(context, { name, processes: [web] });
  const file = join(folder, "procman.json");
  const env = stateFolder === undefined ? {} : { PROCMAN_STATE_DIR: join(folder, stateFolder) };
  const { code, err } = await procman(folder, ["run", "--detach"], env);
  assert.equal(code, 0, err);
  return { folder, file };
}

test("--name reaches a running procman from any folder, also when its file was deleted", async (context) => {
  const name = uniqueName();
  const { file } = await running(context, name);
  rmSync(file);
  const status = await procman("/", ["status", "--name", name]);
  assert.deepEqual([status.code, /^web +running/m.test(status.out)], [0, true], status.err);
  assert.match((await procman("/", ["logs", "web", "--name", name])).out, /web +\| up$/m);
  assert.match((await procman("/", ["why", "web", "--name", name])).out, /^web runs/m);
  assert.equal((await procman("/", ["stop", "web", "--name", name])).code, 0);
  assert.equal((await procman("/", ["status", "web", "--name", name])).code, 3);
  const unknown = await procman("/", ["start", "wbe", "--name", name]);
  assert.deepEqual([unknown.code, /Cannot find process "wbe"/.test(unknown.err)], [1, true], unknown.err);
  const ended = await procman("/", ["terminate", "--name", name]);
  assert.deepEqual([ended.code, ended.out], [0, `${name} has ended, with its process\n`]);
});

test("a command that misses its file names the procman that was started with it", async (context) => {
  const name = uniqueName();
  const { folder, file } = await running(context, name);
  renameSync(file, join(folder, "moved.json"));
  mkdirSync(join(folder, "sub"));
  const hint = `"${name}" was started with ${file} and is running: --name ${name} reaches it.`;
  for (const [cwd, args] of [
    [folder, ["status"]],
    [join(folder, "sub"), ["status"]],
    ["/", ["terminate", "-c", file]],
    ["/", ["logs", "-c", folder]],
  ] as const) {
    const { code, err } = await procman(cwd, args);
    assert.equal(code, 78, err);
    assert.ok(err.includes(hint), err);
  }
  const elsewhere = await procman("/", ["status"]);
  assert.ok(!elsewhere.err.includes(hint), elsewhere.err);
});

test("a project folder that is moved: its procman continues for the old place, also after a kill, and --name reaches it", async (context) => {
  const name = uniqueName();
  const { folder } = await running(context, name);
  const moved = `${folder}-moved`;
  context.after(() => rmSync(moved, { recursive: true, force: true }));
  const pidOf = async (): Promise<number | undefined> => {
    const { code, out } = await procman("/", ["status", "web", "--json", "--name", name]);
    return code === 0 ? [JSON.parse(out) as ProcessRecord].flat()[0]?.pid : undefined;
  };
  const pid = await pidOf();
  assert.ok(pid !== undefined);
  renameSync(folder, moved);
  process.kill(await eventually(() => keeperIn(join(folder, ".procman", name)) || undefined), "SIGKILL");
  let now: number | undefined;
  for (const end = performance.now() + 30_000; now === undefined && performance.now() < end; ) now = await pidOf();
  assert.equal(now, pid);
  const ended = await procman(moved, ["terminate", "--name", name]);
  assert.deepEqual([ended.code, isAlive(pid)], [0, false], ended.err);
});

test("a name that nothing has, or two have, is answered with the names, or the files", async (context) => {
  const name = uniqueName();
  const [one, other] = [await running(context, name), await running(context, uniqueName())];
  const unknown = await procman("/", ["status", "--name", `${name}x`]);
  assert.equal(unknown.code, 69);
  assert.match(
    unknown.err,
    new RegExp(`Cannot find a running procman named "${name}x": running: .*${name}.* Did you mean "${name}"\\?`),
  );
  const both = await procman(one.folder, ["status", "-c", one.file, "--name", name]);
  assert.deepEqual([both.code, /Cannot use --config and --name together/.test(both.err)], [64, true], both.err);
  const twin = folderWith(context, { name, processes: [web] });
  assert.equal((await procman(twin, ["run", "--detach"])).code, 0);
  const ambiguous = await procman(other.folder, ["terminate", "--name", name]);
  assert.equal(ambiguous.code, 64, ambiguous.err);
  assert.match(ambiguous.err, new RegExp(`2 procmans are named "${name}"`));
  for (const file of [one.file, join(twin, "procman.json")])
    assert.ok(ambiguous.err.includes(`--config ${file} `), ambiguous.err);
  assert.equal((await procman(twin, ["terminate"])).code, 0);
});

test("a procman with another state folder is found without it, and its file is not run a second time", async (context) => {
  const name = uniqueName();
  const { folder, file } = await running(context, name, "elsewhere");
  const elsewhere = join(folder, "elsewhere");
  const status = await procman(folder, ["status"]);
  assert.deepEqual([status.code, /^web +running/m.test(status.out)], [0, true], status.err);
  for (const args of [["run"], ["run", "--detach"]]) {
    const second = await procman(folder, args);
    assert.equal(second.code, 1, second.err);
    assert.ok(second.err.includes(`procman is already running with ${file} (pid `), second.err);
    assert.ok(
      second.err.includes(
        `state folder ${join(elsewhere, name)}); stop it with "procman terminate --name ${name}" first`,
      ),
      second.err,
    );
  }
  // A file with another name in it has the same processes.
  writeFileSync(file, JSON.stringify({ name: uniqueName(), processes: [web] }));
  assert.equal((await procman(folder, ["run", "--detach"])).code, 1);
});

test("completion of --name: the procmans that run, and their ids", async (context) => {
  const name = uniqueName();
  await running(context, name);
  const names = await procman("/", ["__complete", "status", "--name", name.slice(0, -1)]);
  assert.ok(names.out.split("\n").includes(name), names.out);
  assert.match((await procman("/", ["__complete", "stop", "--name", name, "w"])).out, /^web\trunning$/m);
  const { folder } = homeOf(context, []);
  assert.equal((await procman(folder, ["__complete", "init", "--name", ""])).out, "");
});
