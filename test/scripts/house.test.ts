import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { checkHouse, exitCodeOf } from "../../scripts/house.ts";
import { plant, type Tree } from "../support/planted-tree.ts";

function problemsIn(tree: Tree): readonly string[] {
  return checkHouse(plant(tree)).problems;
}

/** Each violation: its name, a tree with only that problem, and the message. */
const VIOLATIONS: readonly (readonly [name: string, tree: Tree, problem: RegExp])[] = [
  ["a folder without a README", { "base/a.ts": "" }, /^base: no README\.md/],
  [
    "a folder inside another without a README",
    { "config/README.md": "# config", "config/a.ts": "", "config/edit/b.ts": "" },
    /^config\/edit: no README\.md/,
  ],
  [
    "a README of 17 lines",
    { "base/a.ts": "", "base/README.md": "line\n".repeat(17) },
    /^base\/README\.md: 17 lines, more than 16$/,
  ],
  [
    "a file name in two folders",
    { "a/README.md": "", "a/plan.ts": "", "b/README.md": "", "b/plan.ts": "" },
    /^plan\.ts is the name of 2 files: a\/plan\.ts, b\/plan\.ts$/,
  ],
  [
    "a file name in a folder and at the top",
    { "a/README.md": "", "a/cluster.ts": "", "cluster.ts": "" },
    /^cluster\.ts is the name of 2 files: a\/cluster\.ts, cluster\.ts$/,
  ],
  [
    "a type that two files declare",
    { "a/README.md": "", "a/one.ts": "export type Plan = 1;", "a/two.ts": "type Plan = 2;" },
    /^type Plan is declared in 2 files: a\/one\.ts, a\/two\.ts$/,
  ],
  [
    "a file that asks for the current folder",
    { "one.ts": "export const here = process.cwd();" },
    /^one\.ts: asks for the current folder/,
  ],
  [
    "a comparison of a status",
    { "one.ts": 'const a = (state) => state?.status === "idle";' },
    /^one\.ts:1: compares a status/,
  ],
  [
    "a comparison from the other side",
    { "one.ts": '\nexport const a = ({ status }) => "mixed" !== status;' },
    /^one\.ts:2: compares a status/,
  ],
  [
    "a status sought in a list",
    { "one.ts": 'const a = ["idle", "backoff"].includes(state.status);' },
    /^one\.ts:1: compares a status/,
  ],
  [
    "a doc comment that names no subject",
    { "one.ts": "const a = 1;\n/** Of a request. Seconds. */\nconst LIMIT = a;" },
    /^one\.ts:2: a doc comment begins with "Of"; name the subject$/,
  ],
  [
    "a doc comment of several lines that names no subject",
    { "one.ts": "/**\n * It is ready.\n */\nexport const isReady = true;" },
    /^one\.ts:1: a doc comment begins with "It"; name the subject$/,
  ],
  [
    "a class and an interface of the same name",
    { "one.ts": "export class Plan {}", "two.ts": "interface Plan {}", "three.ts": "type Other = 1;" },
    /^type Plan is declared in 2 files: one\.ts, two\.ts$/,
  ],
];

describe("the house check", () => {
  for (const [name, tree, problem] of VIOLATIONS) {
    test(`reports ${name}, and only that`, () => {
      const problems = problemsIn(tree);
      assert.equal(problems.length, 1, problems.join("\n"));
      assert.match(problems[0] as string, problem);
    });
  }

  test("accepts a README in each folder, and unique names", () => {
    const tree: Tree = {
      "bin.ts": "",
      "keeper/README.md": "line\n".repeat(10),
      "keeper/main.ts": "type Options = 1; export const run = (): void => {};",
      "service/README.md": "# service",
      "service/main.ts": "type Options = 2; export const run = (): void => {};",
      "client/README.md": "# client",
      "client/index.ts": `export type { Plan } from "../contract/plan.ts";`,
      "contract/README.md": "# contract",
      "contract/plan.ts":
        "export type Plan = 1; // type Plan, once more\ninterface Step { a: 1 }\ninterface Step { b: 2 }",
      "contract/index.ts": "",
    };
    assert.deepEqual(problemsIn(tree), []);
  });

  test("accepts a comparison of another thing's status, and one where the verdicts are", () => {
    const compared = 'export const isUp = ({ status }) => status === "running";';
    const tree: Tree = {
      "one.ts": 'const a = response.status === 404 || settled.status === "fulfilled" || status === other.status;',
      "two.ts": 'switch (state.status) { case "idle": }',
      "core/supervisor/README.md": "",
      "core/supervisor/verdict.ts": compared,
      "core/contract/README.md": "",
      "core/contract/status-sets.ts": compared,
    };
    assert.deepEqual(problemsIn(tree), []);
  });

  test("accepts words that begin like those of a comment without a subject", () => {
    const source =
      "/** Often. */\n/** Items of a list. */\n// It may not.\n/* Of no use. */\n/** Text: /** Offset. */\n";
    assert.deepEqual(problemsIn({ "one.ts": source }), []);
  });

  test("requires no README of a folder that has only tests or other folders", () => {
    const tree: Tree = {
      "plugins/shipped/notify/index.ts": "",
      "plugins/shipped/notify/README.md": "",
      "plugins/a.test.ts": "type Plan = 1;",
    };
    assert.deepEqual(problemsIn(tree), []);
  });

  test("ends with 1 on a problem and on an empty folder, with 0 on a good tree", () => {
    const bad = spawnSync(process.execPath, ["--import", "tsx", "scripts/check-house.ts", plant({ "base/a.ts": "" })], {
      encoding: "utf8",
    });
    assert.equal(bad.status, 1);
    assert.match(bad.stderr, /base: no README\.md/);
    assert.equal(exitCodeOf(checkHouse(plant({}))), 1);
    assert.equal(exitCodeOf(checkHouse(plant({ "base/a.ts": "", "base/README.md": "# base" }))), 0);
  });
});
