import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DIST, ROOT } from "../support/product.ts";

type Package = { readonly name: string; readonly version: string; readonly license: string };
type Bom = {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string } };
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
};

/** The npm packages that the source imports: all of them are bundled. */
function importedPackages(): readonly Package[] {
  const sources = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((file) =>
    /(?<!\.test)\.ts$/.test(file),
  );
  const names = sources.flatMap((file) =>
    [
      ...readFileSync(join(ROOT, "src", file), "utf8").matchAll(
        /(?:from|import\() ?"((?:@[\w-]+\/)?[a-z][\w-]*)[^":]*"/g,
      ),
    ].map(([, name = ""]) => name),
  );
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly devDependencies: object;
  };
  return [...new Set(names)]
    .filter((name) => Object.hasOwn(devDependencies, name))
    .map((name) => JSON.parse(readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8")) as Package);
}

test("the package has the licence of each bundled package, and lists it for scanners", () => {
  const packages = importedPackages();
  assert.ok(packages.length >= 4, packages.map(({ name }) => name).join());
  const notices = readFileSync(join(DIST, "THIRD_PARTY_NOTICES"), "utf8");
  const bom = JSON.parse(readFileSync(join(DIST, "sbom.cdx.json"), "utf8")) as Bom;
  assert.deepEqual([bom.bomFormat, bom.metadata.component.name], ["CycloneDX", "procman"]);
  for (const { name, version, license } of packages) {
    const folder = join(ROOT, "node_modules", name);
    const [file = ""] = readdirSync(folder).filter((each) => /^licen[cs]e/i.test(each));
    assert.ok(notices.includes(`${name} ${version} (${license})`), name);
    assert.ok(notices.includes(readFileSync(join(folder, file), "utf8").trim()), name);
    assert.ok(
      bom.components.some((each) => each.purl === `pkg:npm/${name.replace("@", "%40")}@${version}`),
      name,
    );
  }
  const names = bom.components.map(({ name }) => name);
  assert.deepEqual(
    names,
    [...new Set(names)],
    "one version of each, though other packages have others in their own folders",
  );
  assert.ok(!bom.components.some(({ name }) => ["typescript", "tsx", "knip"].includes(name)));
});
