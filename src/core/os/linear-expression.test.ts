/** Regular expressions whose time grows with the text alone. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertWithin } from "../../../test/support/machine-pace.ts";
import { ProcmanError } from "../base/errors.ts";
import { LinearExpression } from "./linear-expression.ts";

test("an expression matches a part of a text; its first group is that of the first match", () => {
  const expression = new LinearExpression("(?i)level=(\\w+)|^ä$");
  assert.equal(expression.groups, 1);
  assert.equal(expression.test("a LEVEL=warn b"), true);
  assert.equal(expression.test("levels"), false);
  assert.equal(expression.firstGroup("level=a level=b"), "a");
  assert.equal(expression.firstGroup("ä"), undefined);
  assert.equal(expression.firstGroup("none"), undefined);
});

test("a wrong expression is refused with the wrong part and the syntax", () => {
  for (const [source, why] of [
    ["(", /^Cannot use the regular expression "\(": missing closing \)/],
    ["a**", /"a\*\*".*invalid nested repetition operator/],
    ["(?<!a)b", /syntax is that of RE2, without look-around and back-references$/],
    ["(a)\\1", /invalid escape sequence in "\\\\1"/],
    ["[z-a]", /invalid character class range in "z-a"/],
    ["(?:a{1,100}){10}", /it is too large \(\d+ steps; at most 1000\); repeat less/],
    ["a{1001}", /invalid repeat count/],
  ] as const)
    assert.throws(
      () => new LinearExpression(source),
      (error) => error instanceof ProcmanError && error.code === "input-invalid" && why.test(error.message),
      source,
    );
});

test("an expression that takes JavaScript years takes no time here", () => {
  const text = `${"a".repeat(50_000)}!`;
  for (const source of ["^(a+)+$", "(a|aa)+$", "(.*)*x", "(x+x+)+y"]) {
    const began = performance.now();
    assert.equal(new LinearExpression(source).test(text), false);
    assertWithin(2_000, performance.now() - began, source);
  }
});
