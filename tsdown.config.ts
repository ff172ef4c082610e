/** dist/: CommonJS bundles for procman's own processes (one read instead of hundreds at start), and the ESM library. Nothing but `node:` stays outside. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";

const shared: UserConfig = {
  outDir: "dist",
  platform: "node",
  target: "node20.19",
  // Its UMD build requires its own parts in a way bundlers can't follow.
  alias: { "jsonc-parser": fileURLToPath(new URL("node_modules/jsonc-parser/lib/esm/main.js", import.meta.url)) },
  deps: { alwaysBundle: [/^(?!node:)/], onlyBundle: false },
  logLevel: "warn",
};

/** A build of its own for each process: no chunk is shared, so each loads exactly what it uses. Modules imported lazily become chunks. */
function program(name: string, file: string, banner = ""): UserConfig[] {
  const build: UserConfig = {
    ...shared,
    entry: { [name]: file },
    format: "cjs",
    minify: true,
    dts: false,
    banner,
    checks: { legacyCjs: false },
  };
  return existsSync(file) ? [build] : [];
}

function library(name: string, file: string): UserConfig[] {
  const build: UserConfig = { ...shared, entry: { [name]: file }, format: "esm", fixedExtension: false, dts: true };
  return existsSync(file) ? [build] : [];
}

export default defineConfig([
  ...program("procman", "src/bin.ts", "#!/usr/bin/env node"),
  ...program("keeper", "src/keeper/main.ts"),
  ...program("service", "src/service/boot.ts"),
  ...program("service-main", "src/service/main.ts"),
  ...program("logger", "src/logs/main.ts"),
  ...program("balancer", "src/cluster/main.ts"),
  ...program("cli", "src/cli/main.ts"),
  ...library("index", "src/index.ts"),
]);
