/** A rollback puts files back, and can be taken back or completed at each step. Real files, as kills leave them. */
import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { type TestContext, test } from "node:test";
import { HistoryStore } from "./history-store.ts";
import { completeRollback, RollbackFiles } from "./rollback-files.ts";
import { entryNamed } from "./shown-history.ts";

type Files = Readonly<Record<string, string>>;

const main = (id: string, include: readonly string[] = []): string =>
  JSON.stringify({ include, processes: [{ id, cmd: "sleep 1000" }] });
const part = (id: string): string => JSON.stringify({ processes: [{ id, cmd: "sleep 1000" }] });

const OLD: Files = {
  "procman.json": main("old", ["conf.d/*.json"]),
  "conf.d/a.json": part("a"),
  "conf.d/b.json": part("b"),
};
const NOW: Files = {
  "procman.json": main("now", ["conf.d/*"]),
  "conf.d/a.json": part("a2"),
  "conf.d/c.json": part("c"),
};

function write(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

/** All files but those of the state folder. */
function filesIn(folder: string): Files {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => !name.startsWith("state") && statSync(join(folder, name)).isFile(),
  );
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** A project that had the files `old` when entry 1 was made, and has those of `now`. */
function project(context: TestContext, old: Files = OLD, now: Files = NOW) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-rollback-")));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const state = join(folder, "state");
  const store = new HistoryStore(state);
  const entry = { time: new Date(0).toISOString(), result: "applied", why: "", version: "1", host: "a" } as const;
  const texts = Object.entries(old).map(([name, text]) => ({ file: join(folder, name), text }));
  store.add(entry, texts);
  write(folder, now);
  const files = new RollbackFiles(store, state);
  const path = join(folder, "procman.json");
  return {
    folder,
    state,
    files,
    path,
    planned: (at = path) => files.planned(entryNamed("1", store), at),
    begin: () => files.begin({ number: 1, main: path, files: files.planned(entryNamed("1", store), path) }),
  };
}

test("files are replaced, made again, or removed where a pattern would find them; the texts of before stay beside them, unfound", (context) => {
  const { folder, planned, begin, files } = project(context);
  assert.deepEqual(
    planned().map(({ file, before, after, copy }) => [
      relative(folder, file),
      before !== undefined,
      after !== undefined,
      copy && relative(folder, copy),
    ]),
    [
      ["conf.d/c.json", true, false, "conf.d/c.json.before-rollback"],
      ["conf.d/a.json", true, true, "conf.d/a.json.before-rollback"],
      ["conf.d/b.json", false, true, undefined],
      ["procman.json", true, true, "procman.json.before-rollback"],
    ],
  );
  begin();
  assert.equal(files.underWay?.number, 1);
  assert.deepEqual(filesIn(folder), {
    ...OLD,
    "conf.d/a.json.before-rollback": NOW["conf.d/a.json"],
    "conf.d/c.json.before-rollback": NOW["conf.d/c.json"],
    "procman.json.before-rollback": NOW["procman.json"],
  });
  files.end();
  assert.equal(files.underWay, undefined);
  assert.deepEqual(planned(), [], "there is nothing to do then");
});

test("where a pattern finds all names, the copies have a leading dot", (context) => {
  const { folder, begin } = project(context, NOW, OLD);
  begin();
  assert.deepEqual(
    Object.keys(filesIn(folder))
      .filter((name) => name.includes("before-rollback"))
      .sort(),
    ["conf.d/.a.json.before-rollback", "conf.d/.b.json.before-rollback", ".procman.json.before-rollback"].sort(),
  );
});

test("taken back, all is as it was; a file that was edited meanwhile is left", (context) => {
  const { folder, begin, files } = project(context);
  begin();
  files.takeBack();
  assert.deepEqual(filesIn(folder), NOW);
  begin();
  writeFileSync(join(folder, "conf.d/a.json"), part("edited"));
  files.takeBack();
  assert.deepEqual(filesIn(folder), {
    ...NOW,
    "conf.d/a.json": part("edited"),
    "conf.d/a.json.before-rollback": NOW["conf.d/a.json"],
  });
});

test("cut off after each number of files, it is completed once, or can be taken back", (context) => {
  for (const count of [0, 1, 2, 3, 4]) {
    const { folder, state, planned, begin, files } = project(context);
    const changes = planned();
    begin();
    const done = filesIn(folder);
    // As it was when so many files were replaced.
    for (const { file } of changes.slice(count)) {
      const name = relative(folder, file);
      if (NOW[name] === undefined) rmSync(file);
      else writeFileSync(file, NOW[name]);
    }
    assert.equal(completeRollback(state), count < 4, `after ${count}`);
    assert.deepEqual(filesIn(folder), done);
    assert.equal(completeRollback(state), false);
    files.takeBack();
    assert.deepEqual(filesIn(folder), NOW);
  }
});

test("an error while files are written takes back what was written", (context) => {
  const { folder, begin, files } = project(context);
  // The third file can't be made, after two were replaced.
  const inTheWay = join(folder, `conf.d/.b.json.${process.pid}.tmp`);
  mkdirSync(inTheWay);
  assert.throws(begin, {
    code: "configuration-missing",
    message: /^Cannot write .*conf\.d\/b\.json: file already exists; the files are as before$/,
  });
  rmSync(inTheWay, { recursive: true });
  assert.deepEqual([filesIn(folder), files.underWay], [NOW, undefined]);
});

test("a folder in the place of a file is refused before anything is written", (context) => {
  const { folder, planned } = project(context);
  rmSync(join(folder, "conf.d/a.json"));
  mkdirSync(join(folder, "conf.d/a.json"));
  assert.throws(planned, { code: "configuration-missing", message: /conf\.d\/a\.json: it is a folder/ });
});

test("a file keeps its mode, and stays where its link leads; one that is made again gets the mode of the main file", (context) => {
  const { folder, begin, path } = project(context);
  mkdirSync(join(folder, "real"));
  renameSync(path, join(folder, "real/procman.json"));
  symlinkSync("real/procman.json", path);
  chmodSync(path, 0o640);
  begin();
  assert.equal(readFileSync(join(folder, "real/procman.json"), "utf8"), OLD["procman.json"]);
  const modes = ["procman.json", "procman.json.before-rollback", "conf.d/b.json"].map(
    (name) => statSync(join(folder, name)).mode & 0o777,
  );
  assert.deepEqual(modes, [0o640, 0o640, 0o640]);
});

test("if the configuration was moved, what lies below its folder has moved with it", (context) => {
  const { folder, planned } = project(
    context,
    { "one/procman.json": OLD["procman.json"] ?? "", "one/conf.d/a.json": part("a"), "shared/x.json": part("x") },
    {},
  );
  write(folder, { "two/procman.json": main("now") });
  assert.deepEqual(
    planned(join(folder, "two/procman.json")).map(({ file }) => relative(folder, file)),
    ["two/conf.d/a.json", "shared/x.json", "two/procman.json"],
  );
});

test("a note without valid content is said once, and removed", (context) => {
  const { state, files, begin } = project(context);
  begin();
  writeFileSync(join(state, "history/rollback.json"), '{"format":"1"');
  assert.throws(() => files.finish(), /its note has no valid content/);
  assert.deepEqual(
    [files.underWay, files.finish(), existsSync(join(state, "history/rollback.json"))],
    [undefined, false, false],
  );
});
