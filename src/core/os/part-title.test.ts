import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { isPartName, partOf, setTitle } from "./part-title.ts";

function titles(context: TestContext): () => readonly string[] {
  const { title } = process;
  context.after(() => {
    process.title = title;
  });
  return () => ["comm", "cmdline"].map((name) => readFileSync(`/proc/self/${name}`, "utf8").replace(/[\0\n]+$/, ""));
}

test("ps shows the name of a part's procman, and the kernel's short name stays that of all versions", (context) => {
  const now = titles(context);
  setTitle("keeper");
  assert.deepEqual(now(), ["procman: keeper", "procman: keeper"]);
  setTitle("keeper", "/srv/shop/.procman/shop");
  assert.deepEqual(now(), ["procman: keeper", "procman[shop]: keeper"]);
  setTitle("balancer", "/srv/shop/.procman/shop");
  assert.deepEqual(now(), ["procman: balanc", "procman[shop]: balancer"]);
});

test("of a name that is too long for the title, a part is left out; what the part is stays", (context) => {
  const now = titles(context);
  setTitle("logger", `/srv/${"a".repeat(4_000)}`);
  assert.match(now()[1] ?? "", /^procman\[a+…\]: logger$/);
});

test("a title has no name before the state folder is known; other programs are not part", () => {
  assert.deepEqual(partOf("procman[shop.1]: service"), { part: "service", name: "shop.1" });
  assert.deepEqual(partOf("procman: keeper"), { part: "keeper" });
  for (const title of ["procman", "node procman: keeper", "procmanx: keeper", "procman [shop]: keeper"])
    assert.equal(partOf(title), undefined);
  assert.deepEqual(["procman: balanc", "procman[shop]:", "procman", "procman-web"].map(isPartName), [
    true,
    true,
    false,
    false,
  ]);
});
