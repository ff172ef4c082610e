/** dist/: CommonJS bundles for procman's own processes (one read instead of hundreds at start), and the ESM library. Nothing but `node:` stays outside. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "tsdown";
import { ROUTES } from "./src/core/contract/routes.ts";

const bundled = new Set<string>();

/** Records the folders of the npm packages in the bundles, for `scripts/third-party.mjs`. */
const RECORD_PACKAGES = {
  name: "record-packages",
  generateBundle: (
    _options: unknown,
    files: Readonly<Record<string, { readonly moduleIds?: readonly string[] }>>,
  ): void => {
    const modules = Object.values(files).flatMap(({ moduleIds = [] }) => moduleIds);
    for (const id of modules) {
      const [, folder] = /^.*?\/(node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+)\//.exec(id) ?? [];
      if (folder !== undefined) bundled.add(folder);
    }
    mkdirSync(".cache", { recursive: true });
    writeFileSync(".cache/bundled.json", JSON.stringify([...bundled].sort()));
  },
};

const shared: UserConfig = {
  plugins: [RECORD_PACKAGES],
  outDir: "dist",
  platform: "node",
  target: "node20.19",
  // Its UMD build requires its own parts in a way bundlers can't follow.
  alias: { "jsonc-parser": fileURLToPath(new URL("node_modules/jsonc-parser/lib/esm/main.js", import.meta.url)) },
  deps: { alwaysBundle: [/^(?!node:)/], onlyBundle: false },
  logLevel: "warn",
};

/** The first statement of each process: before a process has its own handlers, SIGUSR1 would open Node's debugger and SIGUSR2 end it. */
const IGNORE_SIGNALS = `for (const signal of ["SIGUSR1", "SIGUSR2"]) process.on(signal, () => undefined);`;

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

/** `cli-boot.ts` prints the table of commands and loads none of them: their modules are not its chunks. */
const NO_COMMANDS = {
  name: "no-commands",
  resolveId: (id: string): { readonly id: string; readonly external: true } | undefined =>
    id.endsWith("-command.ts") ? { id, external: true } : undefined,
};

/**
 * What the SDK of `procman mcp` imports and a server like ours never runs: the check of answers to its own questions,
 * and schemas of zod 3. A third of the bundle.
 */
const UNUSED_OF_SDK = {
  name: "unused-of-sdk",
  resolveId: (id: string): string | undefined =>
    /\/ajv-provider\.js$|^zod\/v3$|^zod-to-json-schema$/.test(id) ? UNUSED : undefined,
  load: (id: string): string | undefined =>
    id === UNUSED ? "export class AjvJsonSchemaValidator {}\nexport let object, zodToJsonSchema;" : undefined,
};
const UNUSED = "\0unused-of-sdk";

/** V8 reads ASCII as it is, and keeps any other text in twice the memory: docs/design/performance.md. */
const ascii = (code: string): string =>
  code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** `src/core/os/code-cache.ts` runs it as a script, in which `import()` of anything throws. What is loaded lazily is a chunk or `process.getBuiltinModule`. */
function cachedProgram(name: string, file: string): UserConfig[] {
  const plugin = {
    name: "cached-program",
    generateBundle: (_options: unknown, files: Readonly<Record<string, { code?: string }>>): void => {
      const program = files[`${name}.cjs`];
      if (program?.code === undefined) throw new Error(`Cannot build ${name}.cjs: there is none`);
      const [found] = /\bimport\(.{0,60}/.exec(program.code) ?? [];
      if (found !== undefined) throw new Error(`Cannot build ${name}.cjs: it must not import dynamically: ${found}`);
      const [raw] = /\bString\.raw`[^`]*[^\0-\x7f`]|\\[^\0-\x7f]/.exec(program.code) ?? [];
      if (raw !== undefined) throw new Error(`Cannot build ${name}.cjs: an escape would change ${raw}`);
      program.code = ascii(program.code);
    },
  };
  return program(name, file).map((build) => ({ ...build, plugins: [RECORD_PACKAGES, plugin] }));
}

function library(entry: Readonly<Record<string, string>>, format: UserConfig["format"] = "esm"): UserConfig {
  return { ...shared, entry, format, fixedExtension: false, dts: true, checks: { legacyCjs: false } };
}

/** Loaded by `import` in a thread. */
function inThread(name: string, file: string): UserConfig[] {
  return program(name, file).map((build) => ({ ...build, format: "esm", fixedExtension: false }));
}

/** The page asks by method and path: what describes a route is for the server. A tenth of the page. */
const PATHS_ALONE = {
  name: "paths-alone",
  load: (id: string): string | undefined =>
    id.endsWith("/core/contract/routes.ts") ? `export const ROUTES = ${JSON.stringify(paths)};` : undefined,
};
const paths = Object.fromEntries(Object.entries(ROUTES).map(([name, { method, path }]) => [name, { method, path }]));

/** For browsers; `scripts/dashboard-files.mjs` names and compresses it. */
const BROWSER: UserConfig = {
  ...shared,
  plugins: [RECORD_PACKAGES, PATHS_ALONE],
  entry: { app: "src/satellites/dashboard/main.tsx" },
  outDir: ".cache/dashboard",
  platform: "browser",
  target: "es2022",
  format: "esm",
  minify: true,
  dts: false,
  tsconfig: "src/satellites/dashboard/tsconfig.json",
  inputOptions: { transform: { jsx: { runtime: "automatic", importSource: "preact" } } },
  outputOptions: { codeSplitting: false, entryFileNames: "app.js" },
};

export default defineConfig([
  BROWSER,
  ...program("procman", "src/bin.ts", `#!/usr/bin/env node\n${IGNORE_SIGNALS}`),
  ...program("keeper", "src/core/keeper/keeper-boot.ts"),
  ...cachedProgram("keeper-main", "src/core/keeper/main.ts"),
  ...program("service", "src/core/service/service-boot.ts", IGNORE_SIGNALS),
  ...cachedProgram("service-main", "src/core/service/main.ts"),
  ...program("logger", "src/core/logger/main.ts", IGNORE_SIGNALS),
  ...program("balancer", "src/core/balancer/main.ts", IGNORE_SIGNALS),
  ...program("opener", "src/core/keeper/socket-opener.ts", IGNORE_SIGNALS),
  ...program("turn-away", "src/core/service/balancer/turn-away.ts", IGNORE_SIGNALS),
  ...program("linear-engine", "src/core/os/linear-engine.ts"),
  ...program("node-preload", "src/core/node-preload/main.ts"),
  // In the single executable alone; `scripts/executable.mjs` reads it from here.
  ...program("executable", "src/executable.ts").map((build) => ({ ...build, outDir: ".cache/executable" })),
  ...program("cli", "src/cli/cli-boot.ts").map((build) => ({ ...build, plugins: [RECORD_PACKAGES, NO_COMMANDS] })),
  ...cachedProgram("cli-main", "src/cli/main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...program("export", "src/satellites/export/export.ts"),
  ...program("import-main", "src/cli/import-main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...cachedProgram("dev-main", "src/cli/dev-main.ts").map((build) => ({ ...build, ...IN_ONE_FILE })),
  ...cachedProgram("mcp-main", "src/cli/mcp-main.ts").map((build) => ({
    ...build,
    ...IN_ONE_FILE,
    plugins: [build.plugins, UNUSED_OF_SDK],
  })),
  ...inThread("plugin-thread", "src/core/plugins/thread.ts"),
  ...readdirSync("src/satellites/plugins").flatMap((name) =>
    inThread(`plugin-${name}`, `src/satellites/plugins/${name}/index.ts`),
  ),
  // In one build: what two entries export is the same, and `instanceof` works across them. Nothing of Node is in the client, for browsers.
  library({ index: "src/index.ts", client: "src/client/index.ts", plugin: "src/core/plugins/index.ts" }),
  library({ telemetry: "src/telemetry.ts" }, ["esm", "cjs"]),
  library({ cluster: "src/cluster.ts" }, ["esm", "cjs"]),
]);
