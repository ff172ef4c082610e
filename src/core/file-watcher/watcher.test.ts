import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { test } from "node:test";
import { WatcherRig } from "../../../test/support/watcher-rig.ts";
import { inotify, WatchLimitError, type WatchSource } from "./inotify.ts";

test("2.4 a file that is written, created, removed or renamed is reported", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/deep/er/b.js"]);
  const { files, folders } = await rig.open(["src"]);
  assert.deepEqual([files, folders], [2, 3]);
  rig.write("src/a.ts");
  await rig.reported("src/a.ts");
  rig.write("src/deep/er/c.json");
  await rig.reported("src/deep/er/c.json");
  renameSync(rig.at("src/deep/er/b.js"), rig.at("src/b.js"));
  await rig.reported("src/b.js", "src/deep/er/b.js");
  unlinkSync(rig.at("src/a.ts"));
  await rig.reported("src/a.ts");
});

test("2.4 a file that is saved by a rename over it is reported, each time", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"]);
  for (let time = 0; time < 3; time++) {
    rig.write("src/.a.ts.swp");
    renameSync(rig.at("src/.a.ts.swp"), rig.at("src/a.ts"));
    await rig.reported("src/a.ts");
  }
});

test("2.4 a file in folders created just before it is reported, and its later changes", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"]);
  rig.write("src/p/q/r/x.ts");
  await rig.reported("src/p/q/r/x.ts");
  rig.write("src/p/q/r/x.ts");
  await rig.reported("src/p/q/r/x.ts");
});

for (const [where, there] of [
  ["dist", "dist/x"],
  ["dist", "dist/p/q/r"],
] as const)
  test(`2.4 a folder that is removed and created again at once is still watched: ${there}`, async (context) => {
    const rig = new WatcherRig(context, [`src/${there}/old.js`]);
    await rig.open(["src"]);
    rmSync(rig.at(`src/${where}`), { recursive: true });
    rig.write(`src/${there}/new.js`);
    await rig.reported(`src/${there}/new.js`, `src/${there}/old.js`);
    for (let time = 0; time < 2; time++) {
      rig.write(`src/${there}/new.js`);
      await rig.reported(`src/${there}/new.js`);
    }
  });

test("2.4 the watched folder itself is removed and created again", async (context) => {
  const rig = new WatcherRig(context, ["dist/p/old.js"]);
  await rig.open(["dist"]);
  rmSync(rig.at("dist"), { recursive: true });
  rig.write("dist/p/q/new.js");
  await rig.reported("dist/p/q/new.js", "dist/p/old.js");
  rmSync(rig.at("dist"), { recursive: true });
  await rig.reported("dist/p/q/new.js");
  rig.write("dist/p/q/new.js");
  await rig.reported("dist/p/q/new.js");
  rig.write("dist/p/q/new.js");
  await rig.reported("dist/p/q/new.js");
});

test("2.4 a folder above the watched one is replaced by another folder", async (context) => {
  const rig = new WatcherRig(context, ["app/src/a.ts", "next/src/b.ts"]);
  await rig.open(["app/src"]);
  renameSync(rig.at("app"), rig.at("former"));
  renameSync(rig.at("next"), rig.at("app"));
  await rig.reported("app/src/a.ts", "app/src/b.ts");
  rig.write("former/src/a.ts");
  rig.write("app/src/b.ts");
  await rig.reported("app/src/b.ts");
  assert.deepEqual(rig.changes.flat(), []);
});

test("2.4 a path that doesn't exist yet gives a warning and is waited for, also when the folders above it appear one by one", async (context) => {
  const rig = new WatcherRig(context);
  await rig.open(["a/b/c", "late.json"]);
  assert.deepEqual(rig.warnings, [
    "a/b/c doesn't exist yet; waiting for it",
    "late.json doesn't exist yet; waiting for it",
  ]);
  mkdirSync(rig.at("a"));
  mkdirSync(rig.at("a/b"));
  rig.write("a/b/c/d/x.ts");
  await rig.reported("a/b/c/d/x.ts");
  rig.write("late.json");
  await rig.reported("late.json");
});

test("2.4 a named file is watched whatever its extension, also after it was replaced", async (context) => {
  const rig = new WatcherRig(context, ["settings.yaml", "other.yaml"]);
  await rig.open(["settings.yaml"]);
  for (let time = 0; time < 3; time++) {
    rig.write("new.yaml");
    renameSync(rig.at("new.yaml"), rig.at("settings.yaml"));
    await rig.reported("settings.yaml");
    appendFileSync(rig.at("settings.yaml"), "more");
    await rig.reported("settings.yaml");
  }
});

test("2.4 exts, match and skip: files that they exclude are not reported", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(
    ["."],
    { skip: ["**/.git/**", "gen", "**/*.test.ts"], match: ["src/**", "gen/**"] },
    { own: ["src/own"] },
  );
  for (const file of [
    "src/b.css",
    "lib/x.ts",
    "gen/y.ts",
    "src/.git/z.ts",
    "src/a.test.ts",
    "src/own/log.js",
    "src/Makefile",
  ]) {
    rig.write(file);
    rig.write(file);
  }
  assert.deepEqual(await rig.reportedUntil("src/last.ts"), ["src/last.ts"]);
});

test("2.4 no extensions: every file is watched", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts"]);
  await rig.open(["src"], { exts: [], match: ["**"] });
  rig.write("src/Makefile");
  await rig.reported("src/Makefile");
});

test("2.4 a pattern at the end of a path: only files that match are watched", async (context) => {
  const rig = new WatcherRig(context, ["views/a.html", "views/[id]/b.html"]);
  await rig.open(["views/**/*.html", "views/[id]/*.md"]);
  assert.deepEqual(rig.warnings, [
    'no file matches views/[id]/*.md: correct the pattern, or check "skip" of the watcher; new files that match are watched',
  ]);
  rig.write("views/x.ts");
  rig.write("views/[id]/b.html");
  rig.write("views/[id]/c.md");
  await rig.reported("views/[id]/b.html", "views/[id]/c.md");
  assert.deepEqual(await rig.reportedUntil("views/a.html"), ["views/a.html"]);
});

test("2.4 a path without a watched file gives a warning", async (context) => {
  const rig = new WatcherRig(context, ["src/a.py"]);
  await rig.open(["src", "src/*.tz"]);
  assert.deepEqual(rig.warnings, [
    'no file in src is watched: check "exts", "match" and "skip" of the watcher',
    'no file matches src/*.tz: correct the pattern, or check "skip" of the watcher; new files that match are watched',
  ]);
});

test("2.4 no change: another mode, a read, a file that is created and removed at once", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b.ts"]);
  await rig.open(["src"]);
  // While its time is fresh, any event counts: a change could have the same time.
  await new Promise((resolve) => setTimeout(resolve, 30));
  chmodSync(rig.at("src/a.ts"), 0o600);
  readFileSync(rig.at("src/a.ts"));
  rig.write("src/4913.ts");
  unlinkSync(rig.at("src/4913.ts"));
  assert.deepEqual(await rig.reportedUntil("src/b.ts"), ["src/b.ts"]);
});

test("2.4 the target of a link is replaced by another link beside it, as Kubernetes does", async (context) => {
  const rig = new WatcherRig(context, ["etc/..one/app.json", "etc/..two/app.json"]);
  symlinkSync("..one", rig.at("etc/..data"));
  symlinkSync("..data/app.json", rig.at("etc/app.json"));
  await rig.open(["etc"], { skip: ["**/..*/**"] });
  symlinkSync("..two", rig.at("etc/..next"));
  renameSync(rig.at("etc/..next"), rig.at("etc/..data"));
  await rig.reported("etc/app.json");
});

test("2.4 a watched file that is a link is reported when its target changes, wherever that is and however it is changed", async (context) => {
  const rig = new WatcherRig(context, ["shared/env", "shared/..one/app.yaml", "shared/..two/app.yaml", "app/other"]);
  symlinkSync("../shared/env", rig.at("app/step"));
  symlinkSync("step", rig.at("app/.env"));
  symlinkSync("..one", rig.at("shared/..data"));
  symlinkSync("..data/app.yaml", rig.at("shared/app.yaml"));
  await rig.open(["app/.env", "shared/app.yaml"]);
  rig.write("app/other");
  rig.write("shared/env");
  await rig.reported("app/.env");
  rig.write("shared/env~");
  renameSync(rig.at("shared/env~"), rig.at("shared/env"));
  await rig.reported("app/.env");
  rig.write("shared/env");
  await rig.reported("app/.env");
  symlinkSync("..two", rig.at("shared/..next"));
  renameSync(rig.at("shared/..next"), rig.at("shared/..data"));
  await rig.reported("shared/app.yaml");
  unlinkSync(rig.at("shared/env"));
  await rig.reported("app/.env");
  rig.write("shared/env");
  await rig.reported("app/.env");
});

test("2.4 a watched link to a folder stands for that folder, also when the link is changed to another one", async (context) => {
  const rig = new WatcherRig(context, ["one/a.ts", "two/b.ts"]);
  symlinkSync("one", rig.at("current"));
  await rig.open(["current"]);
  rig.write("one/a.ts");
  await rig.reported("current/a.ts");
  symlinkSync("two", rig.at("next"));
  renameSync(rig.at("next"), rig.at("current"));
  await rig.reported("current/a.ts", "current/b.ts");
  rig.write("two/b.ts");
  await rig.reported("current/b.ts");
});

test("2.4 watched paths below a link (current → releases/1) are those of the release to which the link is switched", async (context) => {
  const rig = new WatcherRig(context, [
    "releases/1/src/a.ts",
    "releases/1/.env",
    "releases/2/src/a.ts",
    "releases/2/.env",
  ]);
  symlinkSync("releases/1", rig.at("stable"));
  symlinkSync("stable", rig.at("current"));
  await rig.open(["current/src", "current/.env"]);
  symlinkSync("releases/2", rig.at("next"));
  renameSync(rig.at("next"), rig.at("stable"));
  await rig.reported("current/src/a.ts", "current/.env");
  rig.write("releases/2/src/a.ts");
  await rig.reported("current/src/a.ts");
  symlinkSync("releases/1", rig.at("next"));
  renameSync(rig.at("next"), rig.at("current"));
  await rig.reported("current/src/a.ts", "current/.env");
  rig.write("releases/1/.env");
  await rig.reported("current/.env");
});

test("2.4 changes that come together are reported together", async (context) => {
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
  await rig.reported(...files.map((file) => file.replace("from", "src/to")));
  rig.write("src/to/1/1/1.ts");
  await rig.reported("src/to/1/1/1.ts");
  rmSync(rig.at("src/to"), { recursive: true });
  await rig.reported(...files.map((file) => file.replace("from", "src/to")));
});

/** A source with a limited number of watches. */
function limited(count: number): WatchSource {
  let left = count;
  return (folder, onEvent) => {
    if (left === 0) throw new WatchLimitError("ENOSPC", undefined);
    left -= 1;
    const handle = inotify(folder, onEvent);
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
  test(`2.4 the kernel has no more watches ${when}: files are polled instead, with a warning`, async (context) => {
    const rig = new WatcherRig(context, ["src/a/1.ts", "src/b/2.ts", "settings.yaml"]);
    await rig.open(["src", "settings.yaml"], {}, { kernel: limited(watches) });
    rig.write("src/c/d/e/f/3.ts");
    await rig.until(
      () => rig.warnings.some((text) => /no more watches \(ENOSPC\).*max_user_watches/.test(text)),
      "a warning",
    );
    rig.write("src/a/1.ts");
    await rig.reported("src/a/1.ts");
    rmSync(rig.at("src/b"), { recursive: true });
    rig.write("src/c/d/4.ts");
    rig.write("settings.yaml");
    await rig.reported("src/b/2.ts", "src/c/d/4.ts", "settings.yaml");
    assert.equal(rig.warnings.length, 1);
  });

test("2.4 the fingerprint shows whether a file has changed meanwhile, and which", async (context) => {
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
  await rig.reported("src/a.ts");
  const { fingerprint } = rig;
  rig.close();
  assert.equal((await rig.open(["src"])).fingerprint, fingerprint);
});

test("2.4 the fingerprint depends only on the present files", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b.ts", "src/p/c.ts", "src/q/d.ts"]);
  const { fingerprint } = await rig.open(["src"]);
  assert.equal(rig.fingerprint, fingerprint);
  rig.write("src/a.ts");
  rig.write("src/r/s/e.ts");
  unlinkSync(rig.at("src/b.ts"));
  rmSync(rig.at("src/q"), { recursive: true });
  renameSync(rig.at("src/p"), rig.at("src/moved"));
  await rig.reported("src/a.ts", "src/b.ts", "src/p/c.ts", "src/moved/c.ts", "src/q/d.ts", "src/r/s/e.ts");
  const now = rig.fingerprint;
  rig.close();
  assert.notEqual(now, fingerprint);
  assert.equal((await rig.open(["src"])).fingerprint, now);
});

test("2.4 views of the same paths share one watch on each folder, and each has the files and the interval of its settings", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/style/b.css", "src/style/c.ts", "src/made/d.ts"]);
  const [code, styles, all]: readonly [string[][], string[][], string[][]] = [[], [], []];
  const watched: string[] = [];
  const kernel: WatchSource = (folder, onEvent) => {
    watched.push(folder);
    return inotify(folder, onEvent);
  };
  const views = [
    { settings: { skip: ["src/made"] }, changes: code },
    { settings: { exts: ["css"] }, changes: styles },
    { settings: { exts: [], intervalMs: 1 }, changes: all },
  ];
  const opened = await rig.openViews(["src"], views, { kernel });
  assert.deepEqual(
    opened.map(({ files }) => files),
    [2, 1, 4],
  );
  const inside = watched.filter((folder) => folder.startsWith(rig.at("src")));
  assert.equal(inside.length, new Set(inside).size, "a folder is watched once");
  for (const file of ["src/a.ts", "src/style/b.css", "src/made/d.ts"]) rig.write(file);
  await rig.until(() => new Set([code, styles, all].flat(2)).size === 3 && styles.length > 0 && code.length > 0, "all");
  assert.deepEqual([code.flat(), styles.flat()], [["src/a.ts"], ["src/style/b.css"]]);
  assert.deepEqual(new Set(all.flat()), new Set(["src/a.ts", "src/style/b.css", "src/made/d.ts"]));
});

test("2.4 the fingerprint of a view is that of a watcher with its settings alone", async (context) => {
  const rig = new WatcherRig(context, ["src/a.ts", "src/b/c.css", "src/b/d.ts", ".env"]);
  const [one, two] = [{ exts: ["css"] }, { skip: ["src/b"] }];
  const alone: number[] = [];
  for (const settings of [one, two]) {
    alone.push((await rig.open(["src", ".env"], settings)).fingerprint);
    rig.close();
  }
  const changes: string[][] = [];
  const views = [one, two].map((settings) => ({ settings, changes }));
  const opened = await rig.openViews(["src", ".env"], views);
  assert.deepEqual(
    opened.map(({ fingerprint }) => fingerprint),
    alone,
  );
  rig.write("src/b/c.css");
  await rig.until(() => changes.length > 0, "a change");
  assert.notEqual(rig.fingerprintOf(0), alone[0]);
  assert.equal(rig.fingerprintOf(1), alone[1]);
});
