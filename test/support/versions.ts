/** Installations of procman with another version, or with a defect. */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Outcome } from "./cli.ts";
import { cleanEnvironment } from "./procman-process.ts";
import { BIN, DIST, PACKAGE, ROOT } from "./product.ts";

export type Version = { readonly bin: string; readonly folder: string };

/** The tested one. */
export const CURRENT: Version = { bin: BIN, folder: DIST };

/** The packed 1.0.0, its programs alone. */
export function installRelease(folder: string): Version {
  execFileSync("tar", ["-xzf", join(ROOT, "test/fixtures/procman-1.0.0.tgz"), "-C", folder]);
  const dist = join(folder, "package/dist");
  return { bin: join(dist, "procman.cjs"), folder: dist };
}

/** An installation of this version, with changes to its files. */
export function version(home: string, number: string, change: (dist: string) => void = () => undefined): Version {
  const root = join(home, `procman-${number}`);
  const dist = join(root, "dist");
  mkdirSync(root);
  cpSync(DIST, dist, { recursive: true });
  for (const name of ["package.json", "schema.json"]) cpSync(join(PACKAGE, name), join(root, name));
  const current = (JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as { readonly version: string })
    .version;
  for (const name of readdirSync(dist).filter((each) => each.endsWith(".cjs"))) {
    const path = join(dist, name);
    writeFileSync(
      path,
      readFileSync(path, "utf8")
        .replaceAll(`"${current}"`, `"${number}"`)
        .replaceAll(`\`${current}\``, `\`${number}\``),
    );
  }
  change(dist);
  return { bin: join(dist, "procman.cjs"), folder: dist };
}

export function prepend(dist: string, name: string, code: string): void {
  const path = join(dist, name);
  writeFileSync(path, `${code}\n${readFileSync(path, "utf8")}`);
}

export function run({ bin }: Version, cwd: string, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [bin, ...args], { cwd, env: cleanEnvironment() }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}
