import assert from "node:assert/strict";
import { test } from "node:test";
import { expand, malformedReferenceIn } from "./interpolate.ts";

const VALUES: Readonly<Record<string, string>> = { HOST: "db", EMPTY: "", MONEY: "$1 $& ${HOST}" };
const lookUp = (name: string): string | undefined => VALUES[name];

for (const [text, expanded] of [
  ["${HOST}", "db"],
  ["pg://${HOST}:${PORT:-5432}/${HOST}", "pg://db:5432/db"],
  ["${EMPTY}", ""],
  ["${EMPTY:-x}", "x"],
  ["${EMPTY-x}", ""],
  ["${NONE-}", ""],
  ["${NONE:-a b$c}", "a b$c"],
  // Values are not expanded again.
  ["${MONEY}", "$1 $& ${HOST}"],
  ["$${HOST} $HOST ${1} ${} $", "${HOST} $HOST ${1} ${} $"],
] as const)
  test(`2.2 env: ${text} means ${JSON.stringify(expanded)}`, () => {
    assert.deepEqual(expand(text, lookUp), { text: expanded, missing: [] });
  });

test("2.2 env: names without value and default are reported", () => {
  assert.deepEqual(expand("${A}/${HOST}/${B}", lookUp).missing, ["A", "B"]);
});

for (const [text, stray] of [
  ["${HOST}:${PORT:-1} $${A $ {", undefined],
  ["a ${B C}", "${B C}"],
  ["${A}${B", "${B"],
  ["x ${A:?is needed}", "${A:?is needed}"],
  ["${A:-${B}}", "${A:-${B}}"],
] as const)
  test(`2.2 env: in ${text} ${stray ?? "nothing"} looks like a reference and isn't one`, () => {
    assert.equal(malformedReferenceIn(text), stray);
  });
