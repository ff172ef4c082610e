/** Texts that each match of an expression has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LinearExpression } from "../os/linear-expression.ts";
import { partOfExpression } from "./expression-part.ts";

test("the longest text outside of groups and classes is known, unless it may be missing", () => {
  for (const [source, part] of [
    ["timeout", "timeout"],
    ["^GET /api/.*timeout$", "GET /api/"],
    ["(GET|POST) /api/users", " /api/users"],
    ["a|timeout", undefined],
    ["time?outs", "outs"],
    ["times*", "time"],
    ["tim(e)+out", "tim"],
    ["ab{2}cde", "cde"],
    ["ab{,2}cde", "ab{,2}cde"],
    ['\\{"level":\\d+', '{"level":'],
    ['{"level":"error"', '{"level":"error"'],
    ["\\bok\\b.done\\.", "done."],
    ["[^]a]]xy[[:digit:]]zz", "]xy"],
    ["(?i)disk full", " full"],
    ["(?P<name>a)bcd", "bcd"],
    ["\\x41bcd", undefined],
    ["\\Qa|b\\E", undefined],
    ["\\pLabc", undefined],
    ["größe", "gr"],
    ["a", undefined],
    [".*", undefined],
    ["aab(?i)?", undefined],
    ["aab(?i)c", "aab"],
  ] as const)
    assert.equal(partOfExpression(source), part, source);
});

test("no match lacks it", () => {
  const piece = fc.constantFrom(
    ..."ab|()[]{}?*+.^$\\,-012xsSkK".split(""),
    "(?i)",
    "(?:",
    "[^a]",
    "\\d",
    "\\.",
    "{1,2}",
    "{0}",
    "ſ",
  );
  const text = fc.array(fc.constantFrom("a", "b", "x", "s", "S", "k", "ſ", "K", "0", ".", "(", "{", "]", " "), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), text, (pieces, characters) => {
      const source = pieces.join("");
      const part = partOfExpression(source);
      if (part === undefined) return;
      let expression: LinearExpression;
      try {
        expression = new LinearExpression(source);
      } catch {
        return;
      }
      const line = characters.join("");
      if (expression.test(line)) assert.ok(line.toLowerCase().includes(part.toLowerCase()), `${source} in ${line}`);
    }),
    { numRuns: 5_000 },
  );
});
