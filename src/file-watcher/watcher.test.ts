import assert from "node:assert/strict";
import { appendFileSync, chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";
import { test } from "node:test";
import { WatcherRig } from "../../test/support/watcher-rig.ts";
import { inotify, WatchLimitError, type WatchSource } from "./inotify.ts";

test("2.4 a file that is written, made, removed or renamed is told", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/deep/er/b.js"]);
  const { files, folders } = await rig.open(["src"]);
  assert.deepEqual([files, folders], [2, 3]);
  rig.write("src/a.ts");
  await rig.told("src/a.ts");
  rig.write("src/deep/er/c.json");
  await rig.told("src/deep/er/c.json");
  renameSync(rig.at("src/deep/er/b.js"), rig.at("src/b.js"));
  await rig.told("src/b.js", "src/deep/er/b.js");
  unlinkSync(rig.at("src/a.ts"));
  await rig.told("src/a.ts");
});

test("2.4 a file that is saved by a rename over it is told, and once more after that", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"]);
  for (let time = 0; time < 3; time++) {
    rig.write("src/.a.ts.swp");
    renameSync(rig.at("src/.a.ts.swp"), rig.at("src/a.ts"));
    await rig.told("src/a.ts");
  }
});

test("2.4 a file in folders that are made just before it is told, and its later changes", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"]);
  rig.write("src/p/q/r/x.ts");
  await rig.told("src/p/q/r/x.ts");
  rig.write("src/p/q/r/x.ts");
  await rig.told("src/p/q/r/x.ts");
});

for (const [where, there] of [
  ["dist", "dist/x"],
  ["dist", "dist/p/q/r"],
] as const)
  test(`2.4 a folder that is removed and made again at once is watched: ${there}, and watched for changes after that`, async (context) => {
    const rig = new WatcherRig(context, [`src/${there}/old.js`]);
    await rig.open(["src"]);
    rmSync(rig.at(`src/${where}`), { recursive: true });
    rig.write(`src/${there}/new.js`);
    await rig.told(`src/${there}/new.js`, `src/${there}/old.js`);
    for (let time = 0; time < 2; time++) {
      rig.write(`src/${there}/new.js`);
      await rig.told(`src/${there}/new.js`);
    }
  });

test("2.4 the watched folder itself is removed and made again", async (context) => {
  const rig = new WatcherRig(context, ["dist/p/old.js"]);
  await rig.open(["dist"]);
  rmSync(rig.at("dist"), { recursive: true });
  rig.write("dist/p/q/new.js");
  await rig.told("dist/p/q/new.js", "dist/p/old.js");
  rmSync(rig.at("dist"), { recursive: true });
  await rig.told("dist/p/q/new.js");
  rig.write("dist/p/q/new.js");
  await rig.told("dist/p/q/new.js");
  rig.write("dist/p/q/new.js");
  await rig.told("dist/p/q/new.js");
});

test("2.4 another folder is moved to the place of a watched one, with its own name above it", async (context) => {
  const rig = new WatcherRig(context, ["app/src/a.ts", "next/src/b.ts"]);
  await rig.open(["app/src"]);
  renameSync(rig.at("app"), rig.at("former"));
  renameSync(rig.at("next"), rig.at("app"));
  await rig.told("app/src/a.ts", "app/src/b.ts");
  rig.write("former/src/a.ts");
  rig.write("app/src/b.ts");
  await rig.told("app/src/b.ts");
  assert.deepEqual(rig.changes.flat(), []);
});

test("2.4 a path that is not there yet is said, and watched for: folders above it come one by one", async (context) => {
  const rig = new WatcherRig(context);
  await rig.open(["a/b/c", "late.json"]);
  assert.deepEqual(rig.warnings, ["a/b/c is not there yet; it is watched for", "late.json is not there yet; it is watched for"]);
  mkdirSync(rig.at("a"));
  mkdirSync(rig.at("a/b"));
  rig.write("a/b/c/d/x.ts");
  await rig.told("a/b/c/d/x.ts");
  rig.write("late.json");
  await rig.told("late.json");
});

test("2.4 a file that is named counts whatever its extension, also after it was replaced", async (context) => {
  const rig = new WatcherRig(context, ["settings.yaml", "other.yaml"]);
  await rig.open(["settings.yaml"]);
  for (let time = 0; time < 3; time++) {
    rig.write("new.yaml");
    renameSync(rig.at("new.yaml"), rig.at("settings.yaml"));
    await rig.told("settings.yaml");
    appendFileSync(rig.at("settings.yaml"), "more");
    await rig.told("settings.yaml");
  }
});

test("2.4 exts, match and skip: what doesn't count is not told", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["."], { skip: ["**/.git/**", "gen", "**/*.test.ts"], match: ["src/**", "gen/**"] }, { own: ["src/own"] });
  for (const file of ["src/b.css", "lib/x.ts", "gen/y.ts", "src/.git/z.ts", "src/a.test.ts", "src/own/log.js", "src/Makefile"]) {
    rig.write(file);
    rig.write(file);
  }
  assert.deepEqual(await rig.toldUntil("src/last.ts"), ["src/last.ts"]);
});

test("2.4 no extension at all: every file counts", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"], { exts: [], match: ["**"] });
  rig.write("src/Makefile");
  await rig.told("src/Makefile");
});

test("2.4 a pattern at the end of a path: what matches counts, and nothing else", async (context) => {
  const rig = new WatcherRig(context, ["views/a.html", "views/[id]/b.html"]);
  await rig.open(["views/**/*.html", "views/[id]/*.md"]);
  assert.deepEqual(rig.warnings, [
    'no file fits views/[id]/*.md: correct the pattern, or look at "skip" of the watcher; a file that comes counts',
  ]);
  rig.write("views/x.ts");
  rig.write("views/[id]/b.html");
  rig.write("views/[id]/c.md");
  await rig.told("views/[id]/b.html", "views/[id]/c.md");
  assert.deepEqual(await rig.toldUntil("views/a.html"), ["views/a.html"]);
});

test("2.4 where nothing counts, that is said", async (context) => {
  const rig = new WatcherRig(context, ["src/a.py"]);
  await rig.open(["src", "src/*.tz"]);
  assert.deepEqual(rig.warnings, [
    'no file in src counts: look at "exts", "match" and "skip" of the watcher',
    'no file fits src/*.tz: correct the pattern, or look at "skip" of the watcher; a file that comes counts',
  ]);
});

test("2.4 what only looks like a change is none: another mode, a read, a file that comes and goes", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b.ts"]);
  await rig.open(["src"]);
  // Its time is so fresh after it was written that a change could hide behind the same time.
  await new Promise((resolve) => setTimeout(resolve, 30));
  chmodSync(rig.at("src/a.ts"), 0o600);
  readFileSync(rig.at("src/a.ts"));
  rig.write("src/4913.ts");
  unlinkSync(rig.at("src/4913.ts"));
  assert.deepEqual(await rig.toldUntil("src/b.ts"), ["src/b.ts"]);
});

test("2.4 what a link leads to is replaced by another link beside it, as Kubernetes does with its files", async (context) => {
  const rig = new WatcherRig(context, ["etc/..one/app.json", "etc/..two/app.json"]);
  symlinkSync("..one", rig.at("etc/..data"));
  symlinkSync("..data/app.json", rig.at("etc/app.json"));
  await rig.open(["etc"], { skip: ["**/..*/**"] });
  symlinkSync("..two", rig.at("etc/..next"));
  renameSync(rig.at("etc/..next"), rig.at("etc/..data"));
  await rig.told("etc/app.json");
});

test("2.4 a watched file that is a link counts as what it leads to, wherever that lies and however it is changed", async (context) => {
  const rig = new WatcherRig(context, ["shared/env", "shared/..one/app.yaml", "shared/..two/app.yaml", "app/other"]);
  symlinkSync("../shared/env", rig.at("app/step"));
  symlinkSync("step", rig.at("app/.env"));
  symlinkSync("..one", rig.at("shared/..data"));
  symlinkSync("..data/app.yaml", rig.at("shared/app.yaml"));
  await rig.open(["app/.env", "shared/app.yaml"]);
  rig.write("app/other");
  rig.write("shared/env");
  await rig.told("app/.env");
  rig.write("shared/env~");
  renameSync(rig.at("shared/env~"), rig.at("shared/env"));
  await rig.told("app/.env");
  rig.write("shared/env");
  await rig.told("app/.env");
  symlinkSync("..two", rig.at("shared/..next"));
  renameSync(rig.at("shared/..next"), rig.at("shared/..data"));
  await rig.told("shared/app.yaml");
  unlinkSync(rig.at("shared/env"));
  await rig.told("app/.env");
  rig.write("shared/env");
  await rig.told("app/.env");
});

test("2.4 a watched path that is a link is the folder that it leads to, also when that is another one", async (context) => {
  const rig = new WatcherRig(context, ["one/a.ts", "two/b.ts"]);
  symlinkSync("one", rig.at("current"));
  await rig.open(["current"]);
  rig.write("one/a.ts");
  await rig.told("current/a.ts");
  symlinkSync("two", rig.at("next"));
  renameSync(rig.at("next"), rig.at("current"));
  await rig.told("current/a.ts", "current/b.ts");
  rig.write("two/b.ts");
  await rig.told("current/b.ts");
});

test("2.4 what is changed together is told together", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"], { intervalMs: 300 });
  for (let number = 0; number < 50; number++) rig.write(`src/${number}/x.ts`);
  await rig.until(() => rig.changes.length > 0, "a change");
  assert.equal(rig.changes.length, 1);
  assert.equal(rig.changes[0]?.length, 50);
});

test("2.4 a whole tree is copied into a watched folder, and removed again", async (context) => {
  const files = Array.from({ length: 150 }, (_, number) => `from/${number % 15}/${number % 7}/${number}.ts`);
  const rig = new WatcherRig(context, [...files, "src/a.ts"]);
  await rig.open(["src"]);
  cpSync(rig.at("from"), rig.at("src/to"), { recursive: true });
  await rig.told(...files.map((file) => file.replace("from", "src/to")));
  rig.write("src/to/1/1/1.ts");
  await rig.told("src/to/1/1/1.ts");
  rmSync(rig.at("src/to"), { recursive: true });
  await rig.told(...files.map((file) => file.replace("from", "src/to")));
});

/** Has so many watches, no more. */
function limited(count: number): WatchSource {
  let left = count;
  return (folder, heard) => {
    if (left === 0) throw new WatchLimitError("ENOSPC", undefined);
    left -= 1;
    const handle = inotify(folder, heard);
    return {
      close: () => {
        left += 1;
        handle.close();
      },
    };
  };
}

for (const [watches, when] of [
  [2, "at the start"],
  [6, "later"],
] as const)
  test(`2.4 the kernel has no more watches ${when}: files are looked at instead, and that is said`, async (context) => {
    const rig = new WatcherRig(context, ["src/a/1.ts", "src/b/2.ts", "settings.yaml"]);
    await rig.open(["src", "settings.yaml"], {}, { kernel: limited(watches) });
    rig.write("src/c/d/e/f/3.ts");
    await rig.until(() => rig.warnings.some((text) => /no more watches \(ENOSPC\).*max_user_watches/.test(text)), "a warning");
    rig.write("src/a/1.ts");
    await rig.told("src/a/1.ts");
    rmSync(rig.at("src/b"), { recursive: true });
    rig.write("src/c/d/4.ts");
    rig.write("settings.yaml");
    await rig.told("src/b/2.ts", "src/c/d/4.ts", "settings.yaml");
    assert.equal(rig.warnings.length, 1);
  });

test("2.4 the fingerprint tells whether anything has changed meanwhile, and which file it was", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b/c.ts", "src/note.txt"]);
  const first = await rig.open(["src"]);
  rig.close();
  rig.write("src/note.txt");
  assert.equal((await rig.open(["src"])).fingerprint, first.fingerprint);
  rig.close();
  const before = Date.now() - 10;
  rig.write("src/b/c.ts");
  const third = await rig.open(["src"]);
  assert.notEqual(third.fingerprint, first.fingerprint);
  assert.equal(third.newest?.file, rig.at("src/b/c.ts"));
  assert.ok((third.newest?.at ?? 0) >= before);
  rig.write("src/a.ts");
  await rig.told("src/a.ts");
  const { fingerprint } = rig;
  rig.close();
  assert.equal((await rig.open(["src"])).fingerprint, fingerprint);
});

test("2.4 the fingerprint is that of the files as they are, whatever way they have come to it", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b.ts", "src/p/c.ts", "src/q/d.ts"]);
  const { fingerprint } = await rig.open(["src"]);
  assert.equal(rig.fingerprint, fingerprint);
  rig.write("src/a.ts");
  rig.write("src/r/s/e.ts");
  unlinkSync(rig.at("src/b.ts"));
  rmSync(rig.at("src/q"), { recursive: true });
  renameSync(rig.at("src/p"), rig.at("src/moved"));
  await rig.told("src/a.ts", "src/b.ts", "src/p/c.ts", "src/moved/c.ts", "src/q/d.ts", "src/r/s/e.ts");
  const now = rig.fingerprint;
  rig.close();
  assert.notEqual(now, fingerprint);
  assert.equal((await rig.open(["src"])).fingerprint, now);
});
