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
    { "core/base/a.ts": `import { b } from "../contract/b.ts";`, "core/contract/b.ts": "export const b = 1;" },
    /"core\/base" may not import "core\/contract"/,
  ],
  [
    "an import that points sideways",
    { "core/config/a.ts": `import { b } from "../http/b.ts";`, "core/http/b.ts": "export const b = 1;" },
    /"core\/config" may not import "core\/http"/,
  ],
  [
    "a type-only import that points up",
    { "core/keeper/a.ts": `import type { B } from "../service/b.ts";`, "core/service/b.ts": "export type B = 1;" },
    /"core\/keeper" may not import "core\/service"/,
  ],
  [
    "a dynamic import of the service by the CLI",
    {
      "cli/a.ts": `export const load = () => import("../core/service/b.ts");`,
      "core/service/b.ts": "export const b = 1;",
    },
    /"cli" may not import "core\/service"/,
  ],
  [
    "a re-export across the layers",
    { "core/logger/a.ts": `export { b } from "../config/b.ts";`, "core/config/b.ts": "export const b = 1;" },
    /"core\/logger" may not import "core\/config"/,
  ],
  [
    "an import of the library's entry",
    { "core/service/a.ts": `import { b } from "../../index.ts";`, "index.ts": "export const b = 1;" },
    /"core\/service" may not import "index.ts"/,
  ],
  [
    "the core that imports a satellite",
    { "core/plugins/a.ts": `import "../../satellites/plugins/mail/index.ts";`, "satellites/plugins/mail/index.ts": "" },
    /"core\/plugins" may not import "satellites\/plugins"/,
  ],
  ["an unknown folder", { "core/things/a.ts": "" }, /"core\/things" has no line in LAYERS/],
  [
    "a file at the top that is not an entry",
    { "other.ts": `import "node:fs"; import "node:path";` },
    /"other.ts" has no line in LAYERS/,
  ],
  [
    "a node: import in the pure core",
    { "core/supervisor/a.ts": `import { x } from "node:fs";` },
    /"core\/supervisor" is node-free/,
  ],
  [
    "a package out of its home",
    { "core/service/a.ts": `import { jwtVerify } from "jose";` },
    /imports "jose", which has no home here/,
  ],
  [
    "a module of a package outside its folder",
    { "cli/a.ts": `import { jwtVerify } from "jose/jwt";` },
    /imports "jose\/jwt", which has no home here/,
  ],
  [
    "a package outside its home folder",
    { "core/service/a.ts": `import { p } from "jsonc-parser";` },
    /imports "jsonc-parser"/,
  ],
  [
    "a package without permission",
    { "core/config/a.ts": `import l from "@some/lodash/x";` },
    /imports "@some\/lodash\/x"/,
  ],
  ["a Node module without its prefix", { "core/logger/a.ts": `import fs from "fs";` }, /imports "fs"/],
  [
    "an import of a missing file",
    { "core/logger/a.ts": `import "./gone.ts";` },
    /logger\/gone.ts, which is not a source file/,
  ],
  [
    "an import circle",
    {
      "core/base/a.ts": `import "./b.ts";`,
      "core/base/b.ts": `import "./c.ts";`,
      "core/base/c.ts": `import "./a.ts";`,
    },
    /^circle: core\/base\/a.ts -> core\/base\/b.ts -> core\/base\/c.ts -> core\/base\/a.ts$/,
  ],
  [
    "a satellite that the command loads at once",
    { "cli/a.ts": `import { b } from "../satellites/boot/b.ts";`, "satellites/boot/b.ts": "export const b = 1;" },
    /load a satellite by import/,
  ],
  [
    "a folder over its budget",
    { "core/incidents/a.ts": "// line\n".repeat(400) },
    /core\/incidents: 400 lines, more than its budget of \d+/,
  ],
  ["a file of 451 lines", { "core/base/long.ts": "// line\n".repeat(451) }, /base\/long.ts: 451 lines, more than 450/],
  ["a file called utils", { "core/base/utils.ts": "" }, /base\/utils.ts: the name says nothing/],
  ["a file called something-helper", { "core/base/time-helper.ts": "" }, /the name says nothing/],
  ["a folder called common", { "core/base/common/time.ts": "" }, /the name says nothing/],
  ["a test called manager", { "core/base/manager.test.ts": "" }, /the name says nothing/],
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
      "core/base/errors.ts": "// line\n".repeat(400),
      "core/contract/records.ts": `import "../base/errors.ts";`,
      "core/supervisor/schedule.ts": `import { Cron } from "croner"; import "../base/errors.ts";`,
      "core/contract/token.ts": `import { jwtVerify } from "jose/jwt";`,
      "core/config/config-schema.ts": `import "../supervisor/schedule.ts"; import "../contract/records.ts";`,
      "core/config/read/text.ts": `import { parseTree } from "jsonc-parser"; import "node:fs";`,
      "core/keeper/main.ts": `import "../contract/records.ts"; import "node:child_process";`,
      "core/plugins/shipped/notify-options.ts": `import "../../base/errors.ts";`,
      "core/plugins/shipped/shipped-plugins.ts": `import "./notify-options.ts";`,
      "core/config/plugins.ts": `import "../plugins/shipped/shipped-plugins.ts";`,
      "core/logger/main.ts": `import "../contract/records.ts";`,
      "core/http/server.ts": `import "../contract/records.ts";`,
      "core/service/main.ts": `import "../config/config-schema.ts"; import "../http/server.ts";`,
      "cli/main.ts": `import { Command } from "commander"; export const go = () => import("./commands/go.ts");`,
      "cli/commands/go.ts": `import "../../core/config/config-schema.ts";`,
      "index.ts": `import "./core/config/config-schema.ts";`,
      "bin.ts": `void import("./core/keeper/main.ts"); void import("./cli/main.ts");`,
    };
    assert.deepEqual(problemsIn(tree), []);
  });

  test("allows any import and length in tests beside the source", () => {
    const source = `import "node:fs";\nimport fc from "fast-check";\nimport "../service/b.ts";\n${"// line\n".repeat(300)}`;
    assert.deepEqual(problemsIn({ "core/base/a.ts": "", "core/service/b.ts": "", "core/base/a.test.ts": source }), []);
  });

  test("ends with 1 on a problem, and on an empty folder", () => {
    const tree = plant({ "core/base/utils.ts": "" });
    const bad = spawnSync(process.execPath, ["--import", "tsx", "scripts/check-layers.ts", tree], { encoding: "utf8" });
    assert.equal(bad.status, 1);
    assert.match(bad.stderr, /the name says nothing/);
    assert.equal(exitCodeOf(checkLayers(plant({}))), 1);
  });
});
