/**
 * `npm run executable`: `results/procman`, procman and Node in one file, for machines without Node.
 * `npm run executable -- --test [FILE …]`: builds it, unpacks it, and runs the core of the tests with its Node and its
 * files.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { runTests } from "./node-tests.mjs";
import { ROOT, runCommand } from "./run-command.mjs";

const OUTPUT = join(ROOT, "results/procman");
const MINUTE = 60_000;
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";
/** Files beside `dist/`. */
const BESIDE = ["package.json", "schema.json"];
/** Folders of `dist/` that the program doesn't read. */
const NOT_IN_IT = ["dist/cache", "dist/man"];
/** What touches processes, their start and their end. */
const CORE = [
  "test/integration/supervision.test.ts",
  "test/integration/service-recovery.test.ts",
  "test/integration/api.test.ts",
  "test/clusters/workers.test.ts",
  "test/integration/plugins.test.ts",
  "test/faults/service-down.test.ts",
  "test/e2e/detach.test.ts",
  "test/faults/revival.test.ts",
];

function filesBelow(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_IN_IT.includes(path) ? [] : filesBelow(path);
    // Types are for programs that are compiled with the package, the text for readers.
    return /\.d\.c?ts$|llms-full\.txt$/.test(path) ? [] : [path];
  });
}

async function build() {
  await ensurePackages();
  await ensureBuild();
  const work = mkdtempSync(join(tmpdir(), "procman-executable-"));
  try {
    const files = [...BESIDE, ...filesBelow("dist")].sort();
    const hash = createHash("sha256").update(process.version);
    for (const file of files) hash.update(file).update(readFileSync(join(ROOT, file)));
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const lists = { name: `${version}-${hash.digest("hex").slice(0, 12)}`, files: JSON.stringify(files) };
    for (const [name, text] of Object.entries(lists)) writeFileSync(join(work, name), text);
    const assets = [
      ...Object.keys(lists).map((name) => [name, join(work, name)]),
      ...files.map((file) => [relative(ROOT, join(ROOT, file)), join(ROOT, file)]),
    ];
    const config = {
      main: join(ROOT, ".cache/executable/executable.cjs"),
      output: join(work, "blob"),
      disableExperimentalSEAWarning: true,
    };
    writeFileSync(join(work, "sea.json"), JSON.stringify({ ...config, assets: Object.fromEntries(assets) }));
    await must("make the data", [process.execPath, "--experimental-sea-config", join(work, "sea.json")]);
    mkdirSync(join(ROOT, "results"), { recursive: true });
    copyFileSync(process.execPath, OUTPUT);
    chmodSync(OUTPUT, 0o755);
    const { inject } = await import("postject");
    await inject(OUTPUT, "NODE_SEA_BLOB", readFileSync(join(work, "blob")), { sentinelFuse: FUSE });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  console.log(`${relative(ROOT, OUTPUT)}: ${(statSync(OUTPUT).size / 1e6).toFixed(1)} MB, Node ${process.version}`);
}

async function must(what, argv, env) {
  const { ok, why, output } = await runCommand(argv, { timeoutMs: 2 * MINUTE, env });
  if (!ok) throw new Error(`Cannot ${what}: ${why}\n${output}`);
  return output;
}

/** With the unpacked Node as `node`, and the unpacked folder as the package. */
async function runCore(named) {
  const home = mkdtempSync(join(tmpdir(), "procman-unpacked-"));
  try {
    chmodSync(home, 0o755);
    await must("start it", [OUTPUT, "version"], { PROCMAN_EXECUTABLE_DIR: home });
    const [name] = readdirSync(home);
    const folder = join(home, name);
    const env = { PROCMAN_TEST_PACKAGE: folder, PROCMAN_TEST_EXECUTABLE: OUTPUT, NO_COLOR: "1" };
    const places = named.length > 0 ? named : CORE;
    return await runTests(places, {
      timeoutMs: 30 * MINUTE,
      concurrency: 1,
      show: true,
      env,
      node: join(folder, "bin/node"),
    });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

endWithNpm();
const args = process.argv.slice(2);
await build();
if (args.includes("--test")) {
  const { ok, why, passed, failed } = await runCore(args.filter((arg) => arg !== "--test"));
  if (!ok) console.log(`FAIL: ${why}`);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = ok && failed === 0 ? 0 : 1;
}
