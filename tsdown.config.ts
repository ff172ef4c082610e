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

/** One letter beyond Latin-1, and V8 holds all of a file with two bytes for each: 300 kB more in the service. */
const latin1 = {
  name: "two-byte letters escaped",
  generateBundle(_options: unknown, bundle: Record<string, { type: string; code?: string }>): void {
    for (const output of Object.values(bundle))
      if (output.code !== undefined)
        output.code = output.code.replace(/[^\0-\u00ff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
  },
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
    plugins: [latin1],
  };
  return existsSync(file) ? [build] : [];
}

/** For subcommands that are programs, which there are none of here: 2 ms of each start. */
const COMMANDER_SPAWNS = "const childProcess = require('node:child_process');";

const withoutSpawns = {
  name: "commander without child_process",
  transform(code: string, id: string): string | undefined {
    if (!/commander\/lib\/command\.js$/.test(id)) return undefined;
    if (!code.includes(COMMANDER_SPAWNS)) throw new Error("commander has changed: it no longer requires child_process as it did");
    return code.replace(COMMANDER_SPAWNS, "const childProcess = undefined;");
  },
};

/** Lazy modules stay lazy, but lie in the same file: so their compiled code is kept, too. (Chunks would have what they share in further chunks.) */
const IN_ONE_FILE: UserConfig = { outputOptions: { codeSplitting: false }, plugins: [withoutSpawns, latin1] };

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
  ...program("keeper", "src/keeper/boot.ts"),
  ...program("keeper-main", "src/keeper/main.ts"),
  ...program("service", "src/service/boot.ts"),
  ...program("service-main", "src/service/main.ts"),
  ...program("logger", "src/logs/main.ts"),
  ...program("balancer", "src/cluster/main.ts"),
  ...program("opener", "src/keeper/opener.ts"),
  ...program("cli", "src/cli/boot.ts"),
  ...program("cli-control", "src/cli/control-main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...program("cli-main", "src/cli/main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...inThread("plugin-thread", "src/plugins/thread.ts"),
  ...["notify", "otlp", "logship"].flatMap((name) => inThread(`plugin-${name}`, `src/plugins/shipped/${name}.ts`)),
  ...library("plugin", "src/plugins/index.ts"),
  ...library("index", "src/index.ts"),
  ...library("telemetry", "src/telemetry/reporter.ts", ["esm", "cjs"]),
  ...library("cluster", "src/cluster/listen.ts", ["esm", "cjs"]),
  // For browsers, too: nothing of Node is in it.
  ...library("client", "src/client/index.ts"),
]);
