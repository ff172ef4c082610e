/** 2.1: several files. Real files: what a pattern finds depends on them. */
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { anyConfiguration } from "../../../test/support/arbitrary-configuration.ts";
import type { ConfigText } from "./config-file.ts";
import { parseDocument } from "./document.ts";
import { withIncluded } from "./include.ts";
import { check, dataOf, fileWith, load } from "./load.ts";
import { ConfigurationError } from "./problems.ts";
import { checkConfiguration, resolveConfiguration } from "./validate.ts";

type Files = Readonly<Record<string, string>>;

function folderOf(t: Pick<TestContext, "after">, files: Files): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-include-"));
  t.after(() => rmSync(folder, { recursive: true }));
  fill(folder, files);
  return folder;
}

function fill(folder: string, files: Files): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

const one = (id: string, more: object = {}): string =>
  JSON.stringify({ processes: [{ id, cmd: "x", autostart: true, ...more }] });
const including = (...include: readonly string[]): string => JSON.stringify({ include, processes: [] });
const idsIn = (folder: string): readonly string[] => load(undefined, folder).processes.map(({ id }) => id);

function problemsIn(folder: string): readonly string[] {
  try {
    load(undefined, folder);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.problems.map(
      ({ file, line, column, path, message }) =>
        `${file.replace(`${folder}/`, "")}:${line}:${column} ${path} ${message}`,
    );
  }
}

test("the processes of all files that the patterns find are added in the order of their names, each file once", (t) => {
  const main = JSON.stringify({
    include: ["conf.d/*.jsonc", "apps/*/procman.json", "conf.d/b.jsonc"],
    processes: [{ id: "own", cmd: "x", autostart: true }],
  });
  const folder = folderOf(t, {
    "procman.json": main,
    "conf.d/b.jsonc": `// team b\n${one("b")}`,
    "conf.d/a.jsonc": one("a"),
    "conf.d/.a.jsonc.swp.jsonc": "{",
    "conf.d/README.md": "not read",
    "apps/two/procman.json": one("two"),
    "apps/one/procman.json": one("one"),
    "apps/none/other.json": one("none"),
  });
  assert.deepEqual(idsIn(folder), ["own", "a", "b", "one", "two"]);
  const files = ["conf.d/a.jsonc", "conf.d/b.jsonc", "apps/one/procman.json", "apps/two/procman.json"];
  assert.deepEqual(
    load(undefined, folder).included,
    files.map((file) => join(folder, file)),
  );
});

test("a pattern may find nothing, and doesn't find the main file; a named file must exist", (t) => {
  const folder = folderOf(t, { "procman.json": including("none.d/*.json", "*.json"), "more.json": one("more") });
  assert.deepEqual(idsIn(folder), ["more"]);
  fill(folder, { "procman.json": including("*.json", "gone.json", "procman.json") });
  assert.deepEqual(problemsIn(folder), [
    "procman.json:1:22 include[1] Found the name of a file that doesn't exist (gone.json). Create it, or correct the name.",
    "procman.json:1:34 include[2] Found the name of this file itself; allowed: other files.",
  ]);
});

test("relative paths resolve from the folder of the file in which they are written, also where a profile overrides them", (t) => {
  const logger = { stdout: "logs/{id}.log" };
  const folder = folderOf(t, {
    "procman.json": JSON.stringify({
      include: ["apps/web/procman.json"],
      env: { COMMON: "1" },
      logger: { stderr: "err.log" },
      processes: [],
      profiles: { production: { processes: [{ id: "web", pidFile: "run/web.pid", env: { MODE: "production" } }] } },
    }),
    "apps/web/procman.json": one("web", { logger, pidFile: "web.pid", envFile: ".env", env: { MODE: "test" } }),
  });
  const own = join(folder, "apps/web");
  const [web] = load(undefined, folder).processes;
  assert.deepEqual(
    [web?.cwd, web?.pidFile, web?.envFile, web?.log.stdout],
    [own, join(own, "web.pid"), [join(own, ".env")], join(own, "logs/web.log")],
  );
  assert.deepEqual(web?.env, { COMMON: "1", MODE: "test" });
  const [there] = load(undefined, folder, "production").processes;
  assert.deepEqual(
    [there?.cwd, there?.pidFile, there?.env],
    [own, join(folder, "run/web.pid"), { COMMON: "1", MODE: "production" }],
  );
});

test("every problem names its own file, line and column, in the order of the files, with the line of that file", (t) => {
  const folder = folderOf(t, {
    "procman.json": '{ "include": ["conf.d/*"],\n  "processes": [{ "id": "web", "cmd": "x", "autostart": 1 }] }',
    "conf.d/a.jsonc": '{\n  "processes": [\n    { "id": "b", "cmd": "x", "restart": "allways" }\n  ]\n}',
    "conf.d/b.jsonc": '{ "processes": [{ "id": "web", "cmd": "y", "autostart": true, "nice": 99 }] }',
  });
  assert.deepEqual(
    problemsIn(folder).map((problem) => problem.replace(/ Found .*/, "")),
    [
      "procman.json:2:57 processes[0].autostart",
      "conf.d/a.jsonc:3:41 processes[0].restart",
      "conf.d/b.jsonc:1:25 processes[0].id",
      "conf.d/b.jsonc:1:71 processes[0].nice",
    ],
  );
  assert.throws(
    () => load(undefined, folder),
    /\n {2}3 \| {5}\{ "id": "b", "cmd": "x", "restart": "allways" \}\n {4}\| {41}\^{9}\n/,
  );
  assert.match(
    problemsIn(folder)[2] ?? "",
    /Found "web"; \S*procman\.json:2:\d+ processes\[0\]\.id already has the same id, for the process "web"/,
  );
});

test("a problem of an overridden included process is shown where the value was written", (t) => {
  const profiles = { p: { processes: [{ id: "b", nice: 77 }] } };
  const folder = folderOf(t, {
    "procman.json": JSON.stringify({ include: ["b.json"], processes: [], profiles }),
    "b.json": one("b", { umask: "9" }),
  });
  const context = {
    file: join(folder, "procman.json"),
    shownAs: "procman.json",
    text: JSON.stringify({ include: ["b.json"], processes: [], profiles }),
  };
  assert.throws(
    () => check(context, { profile: "p" }),
    (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.deepEqual(
        error.problems.map(({ file, path }) => `${file.replace(`${folder}/`, "")} ${path}`),
        ["procman.json profiles.p.processes[0].nice", "b.json processes[0].umask"],
      );
      return true;
    },
  );
});

test("an included file has processes and their defaults only; syntax errors and wrong shapes are shown in it", (t) => {
  const folder = folderOf(t, {
    "procman.json": including("conf.d/*.json"),
    "conf.d/a.json": '{ "processes": [], "env": {}, "include": [], "proceses": [] }',
    "conf.d/b.json": "[]",
    "conf.d/c.json": '{ "$schema": "x" }',
    "conf.d/d.json": '{ "processes": {}, "processes": [] }',
  });
  assert.deepEqual(problemsIn(folder), [
    'conf.d/a.json:1:20 env Found "env" in an included file; allowed: only in the main file.',
    'conf.d/a.json:1:31 include Found "include" in an included file; allowed: only in the main file.',
    'conf.d/a.json:1:46 proceses Found the unknown key "proceses"; allowed: "processes" and "defaults". Did you mean "processes"?',
    'conf.d/b.json:1:1  Found an empty list; allowed: an object with "processes".',
    'conf.d/c.json:1:1 processes Missing key "processes"; allowed: a list of processes.',
    'conf.d/d.json:1:20 processes Found "processes" a second time in the same object; allowed: once. Remove one of the two.',
  ]);
  fill(folder, { "conf.d/c.json": '{ "processes": [\n}' });
  assert.match(problemsIn(folder).join("\n"), /^conf\.d\/c\.json:2:1 {2}Found `}`; expected a value/);
});

test("folders, loops of links and files that aren't UTF-8 are problems of the entry that finds them", (t) => {
  const folder = folderOf(t, { "procman.json": including("sub", "*.loop", "bytes.json"), "sub/x": "" });
  symlinkSync("x.loop", join(folder, "x.loop"));
  writeFileSync(join(folder, "bytes.json"), Buffer.from([0x7b, 0xff, 0x7d]));
  const [first, second, third, ...others] = problemsIn(folder);
  assert.match(first ?? "", /^procman\.json:1:\d+ include\[0\] Cannot read .*sub: it is a folder$/);
  assert.match(
    second ?? "",
    /^procman\.json:1:\d+ include\[1\] Cannot read .*x\.loop: its symbolic links form a loop$/,
  );
  assert.match(third ?? "", /^procman\.json:1:\d+ include\[2\] .*not UTF-8/s);
  assert.deepEqual(others, []);
});

const NOBODY = 65_534;
const AS_ROOT = { skip: process.getuid?.() !== 0 && "only root may change owners" };

/** A main file of root, and beside it a folder `theirs` of another user. */
function folderWithTheirs(t: TestContext, include: string, files: Record<string, string> = {}): string {
  const folder = folderOf(t, { "procman.json": including(include), ...files });
  mkdirSync(join(folder, "theirs"), { recursive: true });
  chownSync(join(folder, "theirs"), NOBODY, NOBODY);
  return folder;
}

test(
  "a file that a pattern finds is refused if another user could have put it there; one that is named is included",
  AS_ROOT,
  (t) => {
    const refused = (folder: string, why: RegExp): void => {
      const [problem = "", ...others] = problemsIn(folder);
      assert.match(problem, /^procman\.json:1:\d+ include\[0\] Cannot include \S+x\.json, which the pattern finds: /);
      assert.match(problem, why);
      assert.match(problem, /could have put it there\. If that is intended, name it without a pattern\.$/);
      assert.deepEqual(others, []);
    };
    const owned = folderOf(t, { "procman.json": including("conf.d/*"), "conf.d/x.json": one("x") });
    chownSync(join(owned, "conf.d/x.json"), NOBODY, NOBODY);
    refused(owned, /x\.json belongs to /);
    // A file of root, such as a log, which the owner of the folder has moved there.
    refused(folderWithTheirs(t, "theirs/*.json", { "theirs/x.json": one("x") }), /theirs belongs to /);
    refused(folderWithTheirs(t, "theirs/*/*.json", { "theirs/app/x.json": one("x") }), /theirs belongs to /);
    const linked = folderWithTheirs(t, "conf.d/*.json", { "old/x.json": one("x") });
    symlinkSync("theirs/conf.d", join(linked, "conf.d"));
    symlinkSync("../old", join(linked, "theirs/conf.d"));
    refused(linked, /theirs belongs to /);
    for (const mode of [0o777, 0o1777]) {
      const open = folderOf(t, { "procman.json": including("conf.d/*.json"), "conf.d/x.json": one("x") });
      chmodSync(join(open, "conf.d"), mode);
      refused(open, /other users may write in \S*conf\.d/);
    }
    const named = folderWithTheirs(t, "theirs/x.json", { "theirs/x.json": one("x") });
    assert.deepEqual(idsIn(named), ["x"]);
  },
);

test(
  "a pattern may find files of the owner of the main file, and whatever lies beside it, links of root included",
  AS_ROOT,
  (t) => {
    const folder = folderOf(t, {
      "procman.json": including("conf.d/*.json"),
      "conf.d/x.json": one("x"),
      "real/y.json": one("y"),
    });
    symlinkSync("../real/y.json", join(folder, "conf.d/y.json"));
    assert.deepEqual(idsIn(folder), ["x", "y"]);
    for (const name of ["", "procman.json", "conf.d", "conf.d/x.json"]) chownSync(join(folder, name), NOBODY, NOBODY);
    assert.deepEqual(idsIn(folder), ["x", "y"]);
  },
);

test("a profile can't include files", (t) => {
  const folder = folderOf(t, {
    "procman.json": JSON.stringify({ processes: [], profiles: { p: { include: ["x"] } } }),
  });
  assert.throws(
    () => load(undefined, folder, "p"),
    /profiles\.p\.include\n.*\n.*\n {2}Found "include" in a profile; allowed: only at the top level\./,
  );
});

test("data needs a folder; the result of a check has the processes instead of `include`, and can be checked again anywhere", (t) => {
  const folder = folderOf(t, { "conf.d/a.json": one("a", { pidFile: "a.pid" }) });
  const data = { include: ["conf.d/*"], processes: [] };
  assert.throws(
    () => checkConfiguration(data),
    /include\n {2}Found files to include, but no folder from which they resolve; give `file` or `cwd`\./,
  );
  const { raw } = checkConfiguration(data, { cwd: folder });
  assert.ok(!("include" in raw));
  const { included: _, stateDir: _here, ...whole } = resolveConfiguration(data, { cwd: folder });
  const { stateDir: _there, ...again } = resolveConfiguration(raw, { cwd: "/" });
  assert.deepEqual(again, whole);
});

test("the file that has a process is found, and an edit of it is checked with all others", (t) => {
  const folder = folderOf(t, {
    "procman.json": including("conf.d/*"),
    "conf.d/a.json": one("a"),
    "conf.d/b.json": one("b", { dependsOn: ["a"] }),
  });
  const main: ConfigText = { file: join(folder, "procman.json"), shownAs: "procman.json", text: including("conf.d/*") };
  const home = fileWith("a", main);
  assert.deepEqual([home?.file, fileWith("none", main)], [join(folder, "conf.d/a.json"), undefined]);
  assert.throws(
    () => check(main, { edited: { ...(home as ConfigText), text: '{ "processes": [] }' } }),
    /conf\.d\/b\.json.*dependsOn/,
  );
  assert.deepEqual(
    (dataOf(main) as { processes: { id: string }[] }).processes.map(({ id }) => id),
    ["a", "b"],
  );
});

test("2.1: processes mean the same in one file as in several in its folder, and each has its place in its own file", () => {
  const folder = mkdtempSync(join(tmpdir(), "procman-include-"));
  const file = join(folder, "procman.json");
  try {
    fc.assert(
      fc.property(anyConfiguration, fc.nat(4), fc.nat(4), (config, a, b) => {
        const [first, second] = [Math.min(a, b), Math.max(a, b)];
        const parts = { "1.part": config.processes.slice(first, second), "2.part": config.processes.slice(second) };
        fill(
          folder,
          Object.fromEntries(Object.entries(parts).map(([name, processes]) => [name, JSON.stringify({ processes })])),
        );
        const main = JSON.stringify({ ...config, include: ["*.part"], processes: config.processes.slice(0, first) });
        const meaning = (text: string): unknown => {
          try {
            // A path with a malformed reference is taken literally in both; only the warning of it is missing.
            const { included: _, texts: __, warnings: ___, ...rest } = resolveConfiguration(text, { file });
            return rest;
          } catch (error) {
            if (!(error instanceof ConfigurationError)) throw error;
            return error.problems.length;
          }
        };
        assert.deepEqual(meaning(main), meaning(JSON.stringify(config)));
        const { document } = withIncluded(parseDocument(main, "main"), { file, folder, cwd: folder });
        for (const index of config.processes.keys())
          assert.equal(
            document.place(["processes", index, "id"]).file,
            index < first ? "main" : index < second ? "1.part" : "2.part",
          );
      }),
      { numRuns: 150 },
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
