/** The types of the packed product, as TypeScript finds and checks them in an empty folder. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import { blocksOf, PAGES } from "../pages/page-blocks.ts";
import { cleanEnvironment } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";

const ENTRIES = ["procman", "procman/client", "procman/plugin", "procman/cluster", "procman/telemetry"];

let home = "";
let folder = "";

type Outcome = { readonly code: number; readonly out: string; readonly err: string };

function run(...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder, env: cleanEnvironment() }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

function write(name: string, text: string): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), text);
}

/** Compiles everything in the folder; `options`: of the compiler. */
async function compile(options: object): Promise<void> {
  const compilerOptions = {
    strict: true,
    target: "es2023",
    lib: ["es2023", "dom", "dom.asynciterable"],
    types: ["node"],
    typeRoots: [join(ROOT, "node_modules/@types")],
    ...options,
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, exclude: ["node_modules"] }));
  const { code, out } = await run(join(ROOT, "node_modules/typescript/bin/tsc"), "--project", ".");
  assert.equal(code, 0, out);
}

before(async () => {
  const { PROCMAN_TEST_PACKAGE = (await installProduct()).PROCMAN_TEST_PACKAGE } = process.env;
  home = join(PROCMAN_TEST_PACKAGE, "../..");
});

test.beforeEach(() => {
  folder = mkdtempSync(join(home, "types-"));
});

/** A program that imports each entry. */
const COMMON = `import { Procman, ProcmanError, VERSION, validateConfiguration, type ProcessRecord } from "procman";
import { connect, ProcmanError as ErrorOfClient } from "procman/client";
import { definePlugin, testPlugin } from "procman/plugin";
import { listen } from "procman/cluster";
import { reportTelemetry } from "procman/telemetry";
import packed = require("procman/package.json");
export const first = (records: readonly ProcessRecord[]): string | undefined => records[0]?.id;
const functions = [Procman.run, connect, definePlugin, testPlugin, listen, reportTelemetry].map((each) => typeof each);
const { terminateTimeout } = validateConfiguration({ processes: [{ id: "a", cmd: "b", autostart: true }] });
console.log(functions.join(), VERSION === packed.version, terminateTimeout, ErrorOfClient === ProcmanError);
void import("procman").then((module) => console.log(Object.is(module.ProcmanError, ProcmanError)));
`;

for (const [name, options] of Object.entries({
  "module node16": { module: "node16", moduleResolution: "node16" },
  "module nodenext": { module: "nodenext", moduleResolution: "nodenext" },
  "module commonjs and the resolution of Node 10": {
    module: "commonjs",
    moduleResolution: "node10",
    ignoreDeprecations: "6.0",
  },
}))
  test(`a CommonJS program has the types of each entry, and runs, without a warning: ${name}`, async () => {
    write("package.json", "{}");
    write("use.ts", COMMON);
    await compile({ ...options, resolveJsonModule: true, esModuleInterop: true });
    assert.match(readFileSync(join(folder, "use.js"), "utf8"), /require\("procman\/client"\)/);
    const functions = Array.from({ length: 6 }, () => "function").join();
    assert.deepEqual(await run("use.js"), { code: 0, out: `${functions} true 30 true\ntrue\n`, err: "" });
  });

test("each entry has for import an ES module and its types, for require a CommonJS module and its types", () => {
  const { exports } = JSON.parse(readFileSync(join(home, "node_modules/procman/package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  for (const entry of ENTRIES) {
    const path = entry.replace("procman", ".");
    const file = `./dist/${path === "." ? "index" : path.slice("./".length)}`;
    assert.deepEqual(exports[path], {
      import: { types: `${file}.d.ts`, default: `${file}.js` },
      require: { types: `${file}.d.cts`, default: `${file}.cjs` },
    });
  }
});

test("the member type of a record, an event or a log item says which other members there are", async () => {
  write(
    "narrow.mts",
    `import type { EventRecord, LogItem, ProcessRecord } from "procman";
import type { Client } from "procman/client";
export function told(record: ProcessRecord, event: EventRecord, item: LogItem): unknown {
  // @ts-expect-error: a process has none
  record.instances.length;
  if (record.type === "cluster") return record.instances.map(({ id }) => id);
  if (event.type === "process.incident") return event.incident.lines[0]?.text;
  if (event.type === "process.state") return event.process.type === "group" && event.process.instances.length;
  // @ts-expect-error: of other events
  event.file;
  if (event.type === "process.watch") return event.file;
  if (item.type === "gap") return item.bytes;
  return item.entry.text;
}
export async function listen(client: Client): Promise<void> {
  for await (const event of client.events(undefined, AbortSignal.timeout(1_000))) if (event.type === "log") event.entry.severity satisfies string;
  for (const record of await client.processes()) if (record.type === "cluster") record.instances.length satisfies number;
}
`,
  );
  await compile({ noEmit: true, module: "nodenext", exactOptionalPropertyTypes: true });
});

test("null removes what a process inherits, also in a section, by the types as by the validation", async () => {
  write("package.json", "{}");
  write(
    "inherit.cts",
    `import { type Configuration, validateConfiguration } from "procman";
const configuration: Configuration = {
  defaults: { logger: { stdout: "logs/{id}.log", rotate: { hours: 24 } }, health: { port: 1, interval: 5 }, env: { A: "1" } },
  processes: [
    { id: "web", cmd: "x", autostart: true, ready: { http: "http://localhost/", timeout: 5 } },
    {
      ...{ id: "api", extends: "web", health: null, env: { A: null } },
      ...{ logger: { stdout: null, rotate: { hours: null } }, ready: { timeout: null } },
    },
  ],
};
// @ts-expect-error: a process has one
const _: Configuration = { processes: [{ id: null, cmd: "x" }] };
const { processes } = validateConfiguration(configuration);
const { logger, env, health, ready } = processes[1] ?? {};
console.log(JSON.stringify({ logger, env, health, ready }));
`,
  );
  await compile({ module: "nodenext", exactOptionalPropertyTypes: true });
  const { code, out, err } = await run("inherit.cjs");
  assert.equal(code, 0, err);
  const ready = { http: "http://localhost/", timeout: 30 };
  assert.deepEqual(JSON.parse(out), { logger: { rotate: {} }, env: {}, ready });
});

test("the options of a plugin have the type that its schema says; a test of it needs no whole records", async () => {
  write(
    "plugin.mts",
    `import { definePlugin, type StandardSchema, testPlugin } from "procman/plugin";
const plugin = definePlugin({
  name: "a",
  version: "1.0.0",
  schema: {
    type: "object",
    required: ["file", "retry"],
    properties: {
      file: { type: "string", minLength: 1 },
      level: { enum: ["info", "warn"] },
      only: { type: "array", items: { type: "string" } },
      retry: { type: "object", required: ["times"], properties: { times: { type: "integer" }, forever: { type: "boolean" } } },
      to: { anyOf: [{ type: "number" }, { const: "all" }] },
      headers: { type: "object", additionalProperties: { type: "string" } },
    },
    additionalProperties: false,
  },
  setup({ options, events }) {
    options satisfies {
      readonly file: string;
      readonly level?: "info" | "warn";
      readonly only?: readonly string[];
      readonly retry: { readonly times: number; readonly forever?: boolean };
      readonly to?: number | "all";
      readonly headers?: Readonly<Record<string, string>>;
    };
    // @ts-expect-error: no such option
    options.fil;
    // @ts-expect-error: it may be absent
    options.only.length;
    events.on("process.incident", ({ incident }) => void (incident.lines.length satisfies number));
  },
});
export default plugin;
definePlugin({ name: "b", version: "1.0.0", setup: ({ options }) => void (options.any satisfies unknown) });
definePlugin<{ readonly port: number }>({ name: "c", version: "1.0.0", setup: ({ options }) => void (options.port satisfies number) });
declare const zod: StandardSchema<{ readonly port: number }>;
definePlugin({ name: "d", version: "1.0.0", schema: zod, setup: ({ options }) => void (options.port satisfies number) });
// @ts-expect-error: no such type
definePlugin({ name: "e", version: "1.0.0", schema: { type: "text" }, setup: () => undefined });
const rig = await testPlugin(plugin, { options: { file: "x", retry: { times: 1 } }, processes: [{ id: "web", status: "errored" }] });
await rig.emit({ type: "process.incident", incident: { process: "web", reason: "exited with code 3" } });
await rig.emit({ type: "process.state", process: { id: "web", status: "running" } });
// @ts-expect-error: no such event
await rig.emit({ type: "process.stat" });
`,
  );
  await compile({ noEmit: true, module: "nodenext", exactOptionalPropertyTypes: true });
});

/** What the examples take from elsewhere. */
const SURROUNDINGS = `declare const procman: import("procman").Procman;
declare const plugin: import("procman/plugin").Plugin<{ readonly file: string }>;
declare const events: import("procman/plugin").PluginEvents;
declare const assert: typeof import("node:assert/strict");
declare const appendFile: typeof import("node:fs/promises").appendFile;
declare const tell: (text: string) => Promise<void>;
declare const mine: { readonly log: (...texts: unknown[]) => void };
declare const token: string, text: string, file: string;
declare const jobs: readonly unknown[], served: number;
`;

/** The examples in the comments of types: what editors show. */
function examplesOfTypes(): readonly (readonly [string, string])[] {
  const dist = join(home, "node_modules/procman/dist");
  return readdirSync(dist)
    .filter((name) => name.endsWith(".d.ts"))
    .flatMap((name) =>
      [...readFileSync(join(dist, name), "utf8").matchAll(/@example\n(.*?)(?=\n\s*\*\/|\n\s*\* @)/gs)].map(
        ([, lines = ""], index) =>
          [`${name.split(/[-.]/)[0]}-${index}.mts`, lines.replaceAll(/^\s*\* ?/gm, "")] as const,
      ),
    );
}

/** Those of the pages that use the library. */
function examplesOfPages(): readonly (readonly [string, string])[] {
  return PAGES.flatMap((page) =>
    blocksOf(page)
      .filter(({ language, text }) => language === "js" && /"procman|\bprocman\b[^"]*\./i.test(text))
      .map(({ line, text }) => {
        const [, name = `line-${line}.mjs`] = /^\/\/ (\S+\.mjs)\n/.exec(text) ?? [];
        return [`${page.replaceAll(/\W/g, "-")}/${name.replace(/mjs$/, "mts")}`, text] as const;
      }),
  );
}

test("each example of the pages and of the types that uses the library is correct TypeScript", async () => {
  const examples = [...examplesOfPages(), ...examplesOfTypes()];
  assert.ok(examples.length > 20, `only ${examples.length}`);
  for (const [name, text] of examples) write(name, `${text}\nexport {};\n`);
  write("names.mjs", `console.log(Object.keys(await import(process.argv[2])).join());`);
  const values = await Promise.all(
    ENTRIES.map(async (entry) => [entry, (await run("names.mjs", entry)).out.trim().split(",")] as const),
  );
  const declared = new Map(values.flatMap(([entry, names]) => names.map((name) => [name, entry] as const)));
  const globals = [...declared].map(([name, entry]) => `declare const ${name}: typeof import("${entry}").${name};\n`);
  write("globals.d.mts", `${SURROUNDINGS}${globals.join("")}`);
  await compile({ noEmit: true, module: "nodenext" });
});
