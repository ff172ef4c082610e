import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { automatonOf, globTest, isPattern, sourceOf } from "./glob.ts";

const table: readonly (readonly [pattern: string, matches: readonly string[], others: readonly string[]])[] = [
  ["**/*.*", ["a.ts", "src/a.ts", "src/b/.env", ".env"], ["Makefile", "src/Makefile"]],
  ["**/.git/**", [".git", ".git/HEAD", "a/.git", "a/.git/b/c"], [".github/x", "a/.gitignore", "git"]],
  ["src/*.ts", ["src/a.ts"], ["src/b/a.ts", "a.ts", "src/ats"]],
  ["src/**/*.{ts,tsx}", ["src/a.ts", "src/b/c/a.tsx"], ["src/a.js", "src/a.tsxx", "lib/src/a.ts"]],
  ["./src/**", ["src", "src/a", "src/a/b"], ["srcs", "lib/src"]],
  ["**", ["a", "a/b"], []],
  ["file?.js", ["file1.js"], ["file.js", "file/.js", "file12.js"]],
  ["[a-c]x", ["ax", "cx"], ["dx", "-x"]],
  ["[!a]x", ["bx"], ["ax", "/x"]],
  ["[z-a]x", ["zx", "ax", "-x"], ["bx"]],
  ["a{b,c{d,e}}f", ["abf", "acdf", "acef"], ["acf", "af"]],
  ["a{b", ["a{b"], ["ab"]],
  ["a,b", ["a,b"], ["a", "b"]],
  ["a(b)+c.d$", ["a(b)+c.d$"], ["abbc.d", "a(b)+cxd$"]],
  ["\\*.ts", ["*.ts"], ["a.ts"]],
  ["**/**/**/x", ["x", "a/x", "a/b/c/d/x"], ["ax"]],
];

for (const [pattern, matches, others] of table)
  test(`2.4 the pattern ${pattern} matches ${matches.join(", ")}`, () => {
    const isMatch = globTest([pattern]);
    for (const path of matches) assert.ok(isMatch(path), path);
    for (const path of others) assert.ok(!isMatch(path), path);
  });

test("2.4 any text is a valid pattern", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab*?[]{},!^\\-/.()|+$") }), fc.string(), (pattern, path) => {
      assert.equal(typeof globTest([pattern])(path), "boolean");
    }),
    { numRuns: 2_000 },
  );
});

test("2.4 a path without special characters is not a pattern, and matches only itself", () => {
  assert.ok(!isPattern("src/app.ts"));
  assert.ok(isPattern("src/*.ts") && isPattern("app/[id].ts"));
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z.+$/-]{1,20}$/), (path) =>
      assert.equal(globTest([path])(path), !path.startsWith("./")),
    ),
  );
});

test("2.4 of several patterns any may match; without a pattern nothing matches", () => {
  assert.ok(globTest(["a/*", "b"])("b") && globTest(["a/*", "b"])("a/c"));
  assert.ok(!globTest(["a/*", "b"])("c") && !globTest([])("c"));
});

test("a pattern with many wildcards is fast for every path, and means the same as with few", () => {
  const before = process.cpuUsage();
  assert.equal(globTest(["src/*a*a*a*a*a*a*a*a*b"])(`src/${"a".repeat(250)}.js`), false);
  assert.equal(globTest(["**/a/**/a/**/a/**/b"])("a/".repeat(1_000)), false);
  assert.equal(globTest(["{*a,*a,*a}{*a,*a}*b"])("a".repeat(250)), false);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 1_000_000, `${(user + system) / 1_000} ms of CPU time`);
  for (const [pattern, matches, others] of table) {
    // Further alternatives with wildcards change nothing, but need the other way of matching.
    const isMatch = globTest([`{${pattern},/*/*/*/*/never}`]);
    if (/^\.\/|\*\*$|[{},\\]/.test(pattern)) continue;
    for (const path of matches) assert.ok(isMatch(path), `${pattern}: ${path}`);
    for (const path of others) assert.ok(!isMatch(path), `${pattern}: ${path}`);
  }
});

test("both ways of matching agree", () => {
  const units = fc.string({ unit: fc.constantFrom(..."aab/*?.[]{},"), maxLength: 12 });
  const path = fc.string({ unit: fc.constantFrom(..."aab/."), maxLength: 12 });
  fc.assert(
    fc.property(units, path, (pattern, text) => {
      assert.equal(
        automatonOf(`${pattern}x`).matches(`${text}x`),
        new RegExp(`^(?:${sourceOf(`${pattern}x`)})$`, "s").test(`${text}x`),
      );
    }),
    { numRuns: 5_000 },
  );
});
