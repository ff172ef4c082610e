import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { checkLayers, exitCodeOf } from "../../scripts/layers.ts";
import { plant, type Tree } from "../support/planted-tree.ts";

function problemsIn(tree: Tree): readonly string[] {
  return checkLayers(plant(tree)).problems;
}

/** Each violation: its name, a tree with only that problem, and the message. */
const VIOLATIONS: readonly (readonly [name: string, tree: Tree, problem: RegExp])[] = [
  [
    "an import that points up",
    { "base/a.ts": `import { b } from "../contract/b.ts";`, "contract/b.ts": "export const b = 1;" },
    /"base" may not import "contract"/,
  ],
  [
    "an import that points sideways",
    { "config/a.ts": `import { b } from "../http/b.ts";`, "http/b.ts": "export const b = 1;" },
    /"config" may not import "http"/,
  ],
  [
    "a type-only import that points up",
    { "keeper/a.ts": `import type { B } from "../service/b.ts";`, "service/b.ts": "export type B = 1;" },
    /"keeper" may not import "service"/,
  ],
  [
    "a dynamic import of the service by the CLI",
    { "cli/a.ts": `export const load = () => import("../service/b.ts");`, "service/b.ts": "export const b = 1;" },
    /"cli" may not import "service"/,
  ],
  [
    "a re-export across the layers",
    { "logger/a.ts": `export { b } from "../config/b.ts";`, "config/b.ts": "export const b = 1;" },
    /"logger" may not import "config"/,
  ],
  [
    "an import of the library's entry",
    { "service/a.ts": `import { b } from "../index.ts";`, "index.ts": "export const b = 1;" },
    /"service" may not import "index.ts"/,
  ],
  [
    "the options of a plugin that import the plugin",
    { "plugins/shipped/mail/options.ts": `import "./index.ts";`, "plugins/shipped/mail/index.ts": "" },
    /"plugins\/shipped\/\*\/options.ts" may not import "plugins"/,
  ],
  ["an unknown folder", { "things/a.ts": "" }, /"things" has no line in LAYERS/],
  ["a file at the top that is no entry", { "other.ts": `import "node:fs"; import "node:path";` }, /"other.ts" has no line in LAYERS/],
  ["a node: import in the pure core", { "supervisor/a.ts": `import { x } from "node:fs";` }, /"supervisor" is node-free/],
  ["a package out of its home", { "service/a.ts": `import { jwtVerify } from "jose";` }, /imports "jose", which has no home here/],
  [
    "a module of a package outside its folder",
    { "cli/a.ts": `import { jwtVerify } from "jose/jwt";` },
    /imports "jose\/jwt", which has no home here/,
  ],
  ["a package outside its home folder", { "service/a.ts": `import { p } from "jsonc-parser";` }, /imports "jsonc-parser"/],
  ["a package without permission", { "config/a.ts": `import l from "@some/lodash/x";` }, /imports "@some\/lodash\/x"/],
  ["a Node module without its prefix", { "logger/a.ts": `import fs from "fs";` }, /imports "fs"/],
  ["an import of a missing file", { "logger/a.ts": `import "./gone.ts";` }, /logger\/gone.ts, which is no source file/],
  [
    "an import circle",
    { "base/a.ts": `import "./b.ts";`, "base/b.ts": `import "./c.ts";`, "base/c.ts": `import "./a.ts";` },
    /^circle: base\/a.ts -> base\/b.ts -> base\/c.ts -> base\/a.ts$/,
  ],
  ["a file of 401 lines", { "base/long.ts": "// line\n".repeat(401) }, /base\/long.ts: 401 lines, more than 400/],
  ["a file called utils", { "base/utils.ts": "" }, /base\/utils.ts: the name says nothing/],
  ["a file called something-helper", { "base/time-helper.ts": "" }, /the name says nothing/],
  ["a folder called common", { "base/common/time.ts": "" }, /the name says nothing/],
  ["a test called manager", { "base/manager.test.ts": "" }, /the name says nothing/],
];

describe("the layer check", () => {
  for (const [name, tree, problem] of VIOLATIONS) {
    test(`reports ${name}, and only that`, () => {
      const problems = problemsIn(tree);
      assert.equal(problems.length, 1, problems.join("\n"));
      assert.match(problems[0] as string, problem);
    });
  }

  test("accepts what the layers allow", () => {
    const tree: Tree = {
      "base/errors.ts": "// line\n".repeat(400),
      "contract/records.ts": `import "../base/errors.ts";`,
      "supervisor/schedule.ts": `import { Cron } from "croner"; import "../base/errors.ts";`,
      "contract/token.ts": `import { jwtVerify } from "jose/jwt";`,
      "config/config-schema.ts": `import "../supervisor/schedule.ts"; import "../contract/records.ts";`,
      "config/read/text.ts": `import { parseTree } from "jsonc-parser"; import "node:fs";`,
      "keeper/main.ts": `import "../contract/records.ts"; import "node:child_process";`,
      "plugins/shipped/notify/options.ts": `import "../../../base/errors.ts";`,
      "plugins/shipped/shipped-plugins.ts": `import "./notify/options.ts";`,
      "config/plugins.ts": `import "../plugins/shipped/shipped-plugins.ts";`,
      "logger/main.ts": `import "../contract/records.ts";`,
      "http/server.ts": `import "../contract/records.ts";`,
      "service/main.ts": `import "../config/config-schema.ts"; import "../http/server.ts";`,
      "cli/main.ts": `import { Command } from "commander"; export const go = () => import("./commands/go.ts");`,
      "cli/commands/go.ts": `import "../../config/config-schema.ts";`,
      "index.ts": `import "./config/config-schema.ts";`,
      "bin.ts": `void import("./keeper/main.ts"); void import("./cli/main.ts");`,
    };
    assert.deepEqual(problemsIn(tree), []);
  });

  test("allows any import and length in tests beside the source", () => {
    const source = `import "node:fs";\nimport fc from "fast-check";\nimport "../service/b.ts";\n${"// line\n".repeat(300)}`;
    assert.deepEqual(problemsIn({ "base/a.ts": "", "service/b.ts": "", "base/a.test.ts": source }), []);
  });

  test("ends with 1 on a problem, and on an empty folder", () => {
    const tree = plant({ "base/utils.ts": "" });
    const bad = spawnSync(process.execPath, ["--import", "tsx", "scripts/check-layers.ts", tree], { encoding: "utf8" });
    assert.equal(bad.status, 1);
    assert.match(bad.stderr, /the name says nothing/);
    assert.equal(exitCodeOf(checkLayers(plant({}))), 1);
  });
});
