/** Rules of `logger.levels`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";

function levelsOf(levels: unknown): unknown {
  const file = { logger: { levels }, processes: [{ id: "web", cmd: "x", autostart: true }] };
  return resolveConfiguration(file, { file: "/shop/procman.jsonc", parallelism: 1 }).levels;
}

/** `path message` of each problem. */
function about(levels: unknown): string {
  try {
    levelsOf(levels);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`).join("\n");
  }
}

test("levels: rules stay as they are written; false turns the levels off", () => {
  const rules = [
    { prefix: "E ", severity: "error" },
    { regex: "(?i)slow", severity: "warn" },
    { regex: "level=(\\w+)" },
  ];
  assert.deepEqual(levelsOf(rules), rules);
  assert.equal(levelsOf(false), false);
  assert.equal(levelsOf(undefined), undefined);
});

test("levels: a wrong rule is refused with place and remedy", () => {
  for (const [rule, problem] of [
    [{}, /^logger\.levels\[0\] Found neither "prefix" nor "regex"; allowed: one of them\.$/],
    [{ prefix: "a", regex: "b" }, /^logger\.levels\[0\] Found both "prefix" and "regex"/],
    [{ prefix: "a" }, /^logger\.levels\[0\] Missing key "severity": debug, info, warn or error/],
    [{ prefix: "", severity: "warn" }, /^logger\.levels\[0\]\.prefix Found ""/],
    [{ prefix: "a", severity: "fatal" }, /^logger\.levels\[0\]\.severity Found "fatal"/],
    [{ regex: "(", severity: "warn" }, /^logger\.levels\[0\]\.regex Cannot use the regular expression "\(": missing/],
    [
      { regex: "level=\\w+" },
      /^logger\.levels\[0\]\.regex Found "level=.*" without "severity"; .*"level=\(\\\\w\+\)"\.$/,
    ],
    [{ regex: "a", level: "warn" }, /^logger\.levels\[0\]\.level /],
  ] as const)
    assert.match(about([rule]), problem);
  assert.match(about(true), /^logger\.levels Found true; allowed: false, or a list of rules/);
});
