import assert from "node:assert/strict";
import { test } from "node:test";
import { checkExpressions } from "../../scripts/expressions.ts";
import { plant } from "../support/planted-tree.ts";

const problemsOf = (source: string): readonly string[] => checkExpressions(plant({ "base/a.ts": source })).problems;

test("expressions that take more than linear time are found, with a text on which they do", () => {
  const slow = [
    // Of earlier versions of procman.
    ...[
      String.raw`/^[ \t]*([^\s=#][^\s=]*)[ \t]*=[ \t]*(.*?)[ \t]*$/s`,
      String.raw`/[ \t]*#.*$/s`,
      String.raw`/\r+(?=\n|$)/g`,
    ],
    ...[
      String.raw`/\r+$/`,
      String.raw`/\.+$/`,
      String.raw`/\/\*[\s\S]*?\*\//g`,
      String.raw`/^(#.*\n|\s*\n)*(@\w+\s+\S)/`,
    ],
    String.raw`/([a-z][a-z0-9+.-]*:\/\/)[^/@\s"]+@/gi`,
    // Their kinds.
    ...["/x+(?=y)/", "/x*$/", "/x+$/m", "/^(.*?)x*$/", "/(x+)+$/", "/(?:x|x)*y/", "/^x*x*$/", "/<[^>]*>/"],
  ];
  for (const each of slow) {
    const [problem = "", ...others] = problemsOf(`export const a = ${each};`);
    assert.ok(problem.startsWith(`base/a.ts:1: ${each} may take more than linear time: `), `${each}: ${problem}`);
    assert.match(problem, /(?:polynomial|exponential).*, with .*\.repeat\(\d+\)/);
    assert.deepEqual(others, []);
  }
});

test("linear expressions are right, and one that is made at run time belongs to a file that says why", () => {
  const fast = [String.raw`/(?<!\r)\r+(?=\n|$)/g`, "/^x+$/", "/<[^<>]*>/", String.raw`/"(?:[^"\\]|\\.)*"?/g`, "/x+/g"];
  assert.deepEqual(problemsOf(fast.map((each, index) => `const a${index} = ${each};`).join("\n")), []);
  assert.match(
    problemsOf("const a = (x: string) => new RegExp(x);").join(),
    /^base\/a\.ts:1: an expression made at run time; write it as a/,
  );
  assert.deepEqual(
    checkExpressions(plant({ "core/base/glob.ts": "const a = (x: string) => RegExp(x);" })).problems,
    [],
  );
  const proven = new Set(["/x+$/"]);
  assert.deepEqual(checkExpressions(plant({ "a.ts": "const a = /x+$/; const b = /^y/;" }), proven), {
    expressions: 2,
    problems: [],
  });
  assert.deepEqual([...proven], ["/x+$/", "/^y/"]);
});
