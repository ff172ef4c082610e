/** dist/: CommonJS bundles for procman's own processes (one read instead of hundreds at start), and the ESM library. Nothing but `node:` stays outside. */
import { existsSync, readdirSync } from "node:fs";
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

/** Lazy modules stay lazy, but lie in the same file: so their compiled code is kept, too. */
const IN_ONE_FILE: UserConfig = { outputOptions: { codeSplitting: false } };

function library(name: string, file: string, format: UserConfig["format"] = "esm"): UserConfig[] {
  const build: UserConfig = { ...shared, entry: { [name]: file }, format, fixedExtension: false, dts: true, checks: { legacyCjs: false } };
  return existsSync(file) ? [build] : [];
}

/** Loaded by `import` in a thread. */
function inThread(name: string, file: string): UserConfig[] {
  return program(name, file).map((build) => ({ ...build, format: "esm", fixedExtension: false }));
}

export default defineConfig([
  ...program("procman", "src/bin.ts", "#!/usr/bin/env node"),
  ...program("keeper", "src/keeper/keeper-boot.ts"),
  ...program("keeper-main", "src/keeper/main.ts"),
  ...program("service", "src/service/service-boot.ts"),
  ...program("service-main", "src/service/main.ts"),
  ...program("logger", "src/logger/main.ts"),
  ...program("balancer", "src/balancer/main.ts"),
  ...program("opener", "src/keeper/socket-opener.ts"),
  ...program("cli", "src/cli/cli-boot.ts"),
  ...program("cli-main", "src/cli/main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...inThread("plugin-thread", "src/plugins/thread.ts"),
  ...readdirSync("src/plugins/shipped").flatMap((name) => inThread(`plugin-${name}`, `src/plugins/shipped/${name}/index.ts`)),
  ...library("plugin", "src/plugins/index.ts"),
  ...library("index", "src/index.ts"),
  ...library("telemetry", "src/telemetry.ts", ["esm", "cjs"]),
  ...library("cluster", "src/cluster.ts", ["esm", "cjs"]),
  // For browsers, too: nothing of Node is in it.
  ...library("client", "src/client/index.ts"),
]);
