/** A file is one procman's: whichever path, link or former name leads to it. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, keeperIn, type Outcome, procman } from "../support/cli.ts";
import { processExit } from "../support/procman-process.ts";

const WEB = { id: "web", cmd: "exec sleep 1000", autostart: true };

function rootFor(context: TestContext, states: readonly string[]): string {
  const root = mkdtempSync(join(tmpdir(), "procman-same-"));
  context.after(async () => {
    for (const state of states) {
      const keeper = keeperIn(join(root, state));
      if (keeper === 0) continue;
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    }
    rmSync(root, { recursive: true, force: true });
  });
  return root;
}

function found(outcome: Outcome): void {
  assert.equal(outcome.code, 0, outcome.err);
  assert.match(outcome.out, /^web +running/m);
}

for (const [kind, link] of [
  ["a symbolic link", symlinkSync],
  ["a hard link", linkSync],
] as const)
  test(`the same file by ${kind}: it runs once, and commands find it by either path`, async (context) => {
    const root = rootFor(context, ["real/.procman/same", "other/.procman/same"]);
    for (const folder of ["real", "other"]) mkdirSync(join(root, folder));
    const [real, other] = [join(root, "real/procman.json"), join(root, "other/procman.json")];
    writeFileSync(real, JSON.stringify({ name: "same", processes: [WEB] }));
    link(real, other);
    for (const [first, second] of [
      [other, real],
      [real, other],
    ] as const) {
      assert.equal((await procman(root, ["run", "--detach", "--config", first])).code, 0);
      for (const args of [["run", "--detach"], ["run"]]) {
        const refused = await procman(root, [...args, "--config", second]);
        assert.equal(refused.code, 1, refused.err);
        assert.match(refused.err, /already running with /);
      }
      for (const file of [first, second]) found(await procman(root, ["status", "--config", file]));
      assert.match((await procman(root, ["terminate", "--config", second])).out, /has ended/);
    }
  });

test("a link to the folder of the file", async (context) => {
  const root = rootFor(context, ["real/.procman/same"]);
  mkdirSync(join(root, "real"));
  symlinkSync("real", join(root, "other"));
  writeFileSync(join(root, "real/procman.json"), JSON.stringify({ name: "same", processes: [WEB] }));
  assert.equal((await procman(root, ["run", "--detach", "--config", "other"])).code, 0);
  assert.match((await procman(root, ["run", "--detach", "--config", "real"])).err, /already running/);
  found(await procman(root, ["status", "--config", "real"]));
  assert.match((await procman(join(root, "real"), ["terminate"])).out, /has ended/);
});

for (const [what, name, file] of [
  ["lost its name", undefined, "procman.json"],
  ["has another name", "later", "procman.json"],
] as const)
  test(`a file that ${what} is still the running one's: status, reload, terminate`, async (context) => {
    const { folder } = homeOf(context, [WEB]);
    const rename = (): void =>
      writeFileSync(join(folder, file), JSON.stringify({ ...(name && { name }), processes: [WEB] }));
    assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
    rename();
    found(await procman(folder, ["status"]));
    found(await procman(folder, ["status", "--config", join(folder, file)]));
    const token = await procman(folder, ["token", "--consumer", "ci"]);
    assert.equal(token.code, 0, token.err);
    assert.deepEqual(
      readdirSync(join(folder, ".procman")).sort(),
      [".gitignore", "test"],
      "it is that of the running one",
    );
    const reload = await procman(folder, ["reload"]);
    assert.equal(reload.code, 0, reload.err);
    assert.match((await procman(folder, ["run", "--detach"])).err, /already running/);
    const end = await procman(folder, ["terminate"]);
    assert.deepEqual([end.code, end.out], [0, "test has ended, with its process\n"], end.err);
    assert.equal((await procman(folder, ["status"])).code, 69);
  });

test("with PROCMAN_STATE_DIR the renamed file is found there, and only there", async (context) => {
  const root = rootFor(context, ["state/first"]);
  const env = { PROCMAN_STATE_DIR: join(root, "state") };
  writeFileSync(join(root, "procman.json"), JSON.stringify({ name: "first", processes: [WEB] }));
  assert.equal((await procman(root, ["run", "--detach"], env)).code, 0);
  writeFileSync(join(root, "procman.json"), JSON.stringify({ name: "second", processes: [WEB] }));
  found(await procman(root, ["status"], env));
  assert.equal((await procman(root, ["status"], { PROCMAN_STATE_DIR: join(root, "elsewhere") })).code, 69);
  assert.equal((await procman(root, ["terminate"], env)).code, 0);
});

test("releases whose configuration is a part of them: the next one names the procman of the one before", async (context) => {
  const root = rootFor(context, ["releases/1/.procman/shop-rel", "current/.procman/shop-rel"]);
  for (const release of ["1", "2"]) {
    mkdirSync(join(root, "releases", release), { recursive: true });
    writeFileSync(
      join(root, "releases", release, "procman.json"),
      JSON.stringify({ name: "shop-rel", processes: [WEB] }),
    );
  }
  assert.equal((await procman(join(root, "releases/1"), ["run", "--detach"])).code, 0);
  for (const args of [["reload"], ["status"], ["terminate"]]) {
    const { code, err } = await procman(join(root, "releases/2"), args);
    assert.equal(code, 69);
    assert.match(
      err,
      /"shop-rel" runs with \S+\/releases\/1\/procman\.json, in the folder beside this one.*--name shop-rel/,
    );
  }
  assert.match((await procman(join(root, "releases/1"), ["terminate"])).out, /has ended/);
});

test("releases behind a link, by which procman was started: terminate in the former release ends it, and says so", async (context) => {
  const root = rootFor(context, ["current/.procman/shop-rel"]);
  for (const release of ["1", "2"]) {
    mkdirSync(join(root, "releases", release), { recursive: true });
    writeFileSync(
      join(root, "releases", release, "procman.json"),
      JSON.stringify({ name: "shop-rel", processes: [WEB] }),
    );
  }
  symlinkSync("releases/1", join(root, "current"));
  assert.equal((await procman(root, ["run", "--detach", "--config", "current"])).code, 0);
  symlinkSync("releases/2", join(root, "next"));
  renameSync(join(root, "next"), join(root, "current"));
  found(await procman(root, ["status", "--config", "current"]));
  assert.equal((await procman(root, ["reload", "--config", "current"])).code, 0);
  found(await procman(join(root, "releases/1"), ["status"]));
  const end = await procman(join(root, "releases/1"), ["terminate"]);
  assert.deepEqual([end.code, end.out], [0, "shop-rel has ended, with its process\n"], end.err);
  assert.match(
    (await procman(join(root, "releases/1"), ["status"])).err,
    /none is running for .*Start it with "procman run"/,
  );
  assert.match((await procman(root, ["status", "--config", "current"])).err, /none is running for /);
});
