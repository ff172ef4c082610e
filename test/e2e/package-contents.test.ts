/** What an installation gets and runs: the files of the package, nothing at its installation, and the list of its parts for scanners. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DIST, PACKAGE, ROOT } from "../support/product.ts";

/** Each file of the package is one of these. A new kind of file fails until it is here. */
const ALLOWED: readonly RegExp[] = [
  /^(CHANGELOG|CONTRIBUTING|README|SECURITY)\.md$|^LICENSE$|^(package|schema)\.json$|^(dist\/llms-full|llms)\.txt$/,
  /^docs\/(README|(guide|reference|design)\/[a-z0-9-]+)\.md$/,
  /^examples\/([a-z-]+\/)*([a-z0-9-]+\.(mjs|py|jsonc|json|yml)|README\.md)$/,
  /^dist\/[A-Za-z0-9_-]+\.(js|cjs)$|^dist\/[A-Za-z0-9_-]+\.d\.c?ts$/,
  /^dist\/dashboard\/([a-z]+-[0-9a-f]{10}\.(css|js|svg)\.br|index\.html\.br|manifest\.json)$/,
  /^dist\/man\/procman(-[a-z]+)*(\.json)?\.[15]$/,
  /^docker\/(Dockerfile|\.dockerignore|compose\.yaml)$/,
  /^dist\/(THIRD_PARTY_NOTICES|sbom\.cdx\.json)$/,
];
/** Folders of the package. */
const FOLDERS = ["dist", "docker", "docs", "examples"];
/** The program of `procman dev` has 0.4 MB of them: in a file by itself it starts sooner. The parser of archives has 0.1 MB; import and export have the client, as they ask a running procman. */
const MAX_BYTES = 7_600_000;

type Manifest = { readonly scripts?: Readonly<Record<string, string>>; readonly dependencies?: object };
type Component = {
  readonly "bom-ref": string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly hashes: readonly { readonly alg: string; readonly content: string }[];
};
type Bom = {
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly component: Pick<Component, "bom-ref"> };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

function json<Value>(...path: readonly string[]): Value {
  return JSON.parse(readFileSync(join(...path), "utf8")) as Value;
}

/** Of the installed package; of a checkout, as far as `files` in its package.json names them. */
function filesOfPackage(): readonly string[] {
  const all = readdirSync(PACKAGE, { recursive: true, encoding: "utf8" }).filter(
    (name) => PACKAGE !== ROOT || FOLDERS.includes(name.split("/")[0] ?? ""),
  );
  const excluded = PACKAGE === ROOT ? /^(docs\/images|dist\/cache)\// : /^(node_modules|dist\/cache)\//;
  return all.filter((name) => !excluded.test(name) && statSync(join(PACKAGE, name)).isFile());
}

test("the package has files of known kinds only: no test, no source, no source map, no key; and is small", () => {
  const files = filesOfPackage();
  assert.ok(files.includes("dist/procman.cjs"), "the files are those of the package");
  assert.deepEqual(
    files.filter((name) => !ALLOWED.some((pattern) => pattern.test(name))),
    [],
  );
  for (const name of files.filter((each) => /\.(c?js|json|mjs)$/.test(each))) {
    const text = readFileSync(join(PACKAGE, name), "utf8");
    assert.doesNotMatch(text, /^\/\/# sourceMappingURL=/m, name);
    assert.doesNotMatch(
      text,
      /-----BEGIN [A-Z ]*PRIVATE KEY-----\\?n?[A-Za-z0-9+/]{40}|\bnpm_[A-Za-z0-9]{36}\b|\bghp_[A-Za-z0-9]{36}\b/,
      name,
    );
    assert.ok(!text.includes(`"${ROOT.replace(/\/$/, "")}`), `${name} names the folder in which it was built`);
  }
  const bytes = files.reduce((sum, name) => sum + statSync(join(PACKAGE, name)).size, 0);
  assert.ok(bytes < MAX_BYTES, `${bytes} bytes`);
});

test("an installation runs no script and needs no other package; nor do the bundled packages bring one", () => {
  const { scripts = {}, dependencies = {} } = json<Manifest>(PACKAGE, "package.json");
  const atInstallation = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"];
  assert.deepEqual(
    [atInstallation.filter((name) => Object.hasOwn(scripts, name)), Object.keys(dependencies)],
    [[], []],
  );
  for (const { name } of json<Bom>(DIST, "sbom.cdx.json").components) {
    const { scripts: own = {} } = json<Manifest>(ROOT, "node_modules", name, "package.json");
    assert.deepEqual(
      Object.keys(own).filter((each) => /^(pre|post)?install$/.test(each)),
      [],
      name,
    );
  }
});

test("the list of bundled packages is CycloneDX 1.5: each part has name, version, address, licence and digest, and links lead to parts", () => {
  const { specVersion, version, metadata, components, dependencies } = json<Bom>(DIST, "sbom.cdx.json");
  assert.deepEqual([specVersion, version], ["1.5", 1]);
  const refs = [metadata.component["bom-ref"], ...components.map((each) => each["bom-ref"])];
  assert.equal(new Set(refs).size, refs.length, "each reference once");
  for (const { type, name, version: its, purl, licenses, hashes, "bom-ref": ref } of components) {
    assert.deepEqual([type, purl], ["library", `pkg:npm/${name.replace("@", "%40")}@${its}`], ref);
    for (const { license } of licenses) assert.match(license.id, /^[A-Za-z0-9.+-]+$/, ref);
    for (const { alg, content } of hashes) assert.ok(alg === "SHA-512" && /^[0-9a-f]{128}$/.test(content), ref);
    assert.ok(licenses.length > 0 && hashes.length > 0, ref);
  }
  for (const { ref, dependsOn } of dependencies)
    for (const each of [ref, ...dependsOn]) assert.ok(refs.includes(each), each);
});
