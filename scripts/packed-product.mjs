/** procman as users get it: packed by npm, and installed into an empty folder outside of this checkout. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { ROOT, runCommand } from "./run-command.mjs";

const TIMEOUT_MS = 120_000;

/** Installs `dist/` as it is. The folder is removed at the end of this process. Resolves with the environment of tests. */
export async function installProduct() {
  const home = mkdtempSync(join(tmpdir(), "procman-product-"));
  // Programs of a test that was cut off may still write there.
  process.once("exit", () => rmSync(home, { recursive: true, force: true, maxRetries: 10 }));
  // Some tests run procman as another user.
  chmodSync(home, 0o755);
  writeFileSync(join(home, "package.json"), "{}");
  const tarball = await pack(".", home);
  await npm("install", "--prefix", home, "--offline", "--no-audit", "--no-fund", tarball);
  return { PROCMAN_TEST_PACKAGE: join(home, "node_modules/procman") };
}

/** Resolves with the path of the tarball. `folder`: of the package, as it is. */
export async function pack(folder, destination) {
  await npm("pack", folder, "--ignore-scripts", "--pack-destination", destination);
  const { name, version } = JSON.parse(readFileSync(resolve(ROOT, folder, "package.json"), "utf8"));
  return join(destination, `${name}-${version}.tgz`);
}

async function npm(...args) {
  const program = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];
  const { ok, why, output } = await runCommand([...program, ...args], { timeoutMs: TIMEOUT_MS });
  if (!ok) throw new Error(`Cannot run "npm ${args.join(" ")}": ${why}\n${output}`);
}
