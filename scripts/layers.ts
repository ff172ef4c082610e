/** The rules of the source tree: which folder may import which, where packages live, how long a file may be, what it may not be called. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";

const MAX_LINES = 450;
/** They only wire: a limit made golf there. */
const COMPOSITION_ROOTS = ["core/service/service.ts", "core/keeper/keeper.ts"];
const EMPTY_NAME = /(?:^|[-_./])(?:utils?|helpers?|common|managers?)(?=[-_./])/i;

/** What everything of procman's own processes stands on. */
const GROUND = ["core/base", "core/os", "core/ipc", "core/contract"] as const;

const CAPABILITIES = [
  ...GROUND,
  "core/supervisor",
  "core/autoscale",
  "core/log-store",
  "core/config",
  "core/file-watcher",
  "core/probes",
  "core/metrics",
  "core/incidents",
  "core/history",
  "core/releases",
  "core/plugins",
  "core/http",
] as const;

/** The inner layers of `core/service/`, the lowest first: each may import those before it. */
const SERVICE = [
  "core/service/system-clock.ts",
  "core/service/recovery/config-snapshot.ts",
  "core/service/recovery/notes.ts",
  "core/service/spec-registry.ts",
  "core/service/subsystem.ts",
  "core/service/keeper-channel.ts",
  "core/service/log-line.ts",
  "core/service/process-bus.ts",
  "core/service/service-log.ts",
  "core/service/services.ts",
  "core/service/reporting",
  "core/service/spawn",
  "core/service/recovery",
  "core/service/config",
  "core/service/balancer",
  "core/service/operations",
  "core/service/autoscale",
  "core/service/http",
  "core/service",
] as const;

const CLIENT = ["client", "client/connection"] as const;

/** What the satellites see of the rest; each of them sees less. */
const SEEN = ["core/base", "core/os", "core/contract", "core/config", ...CLIENT] as const;

/** What a page of the dashboard stands on. */
const PAGE = [
  "core/base",
  "core/contract",
  "client",
  "satellites/dashboard/model",
  "satellites/dashboard/parts",
] as const;

/** Folders of the dashboard that know nothing of each other. */
const PAGES = ["overview", "logs", "process", "pages"].map((page) => `satellites/dashboard/${page}`);

/** A folder of `src/`, or a file, and the folders it may import. A folder may always import itself; the longest row counts. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  "core/base": [],
  "core/contract": ["core/base"],
  "core/os": ["core/base", "core/contract"],
  "core/ipc": ["core/base", "core/contract"],
  "core/supervisor": ["core/base"],
  "core/log-store": GROUND,
  "core/autoscale": ["core/base", "core/supervisor"],
  "core/plugins/shipped": ["core/base", "core/contract"],
  "core/config": [...GROUND, "core/supervisor", "core/autoscale", "core/plugins/shipped"],
  "core/keeper": GROUND,
  "core/logger": [...GROUND, "core/log-store"],
  "core/balancer": GROUND,
  "core/file-watcher": ["core/base", "core/os"],
  "core/probes": ["core/base", "core/os", "core/contract"],
  "core/metrics": ["core/base", "core/os", "core/contract", "core/supervisor", "core/log-store"],
  "core/incidents": ["core/base", "core/os", "core/contract", "core/log-store"],
  "core/history": ["core/base", "core/os", "core/contract", "core/config"],
  "core/releases": ["core/base", "core/os", "core/contract"],
  "core/plugins": [...GROUND, "core/log-store", "core/plugins/shipped"],
  "core/http": ["core/base", "core/contract", "core/os/error-output.ts"],
  "core/node-preload": [],
  ...Object.fromEntries(SERVICE.map((row, level) => [row, [...CAPABILITIES, ...SERVICE.slice(0, level)]])),

  client: ["core/base", "core/contract"],
  "client/connection": [
    "core/base",
    "core/os",
    "core/contract",
    "core/log-store",
    "core/incidents",
    "core/config",
    "client",
  ],

  "cli/output": ["core/base", "core/os", "core/contract"],
  cli: [
    ...GROUND,
    "core/config",
    "core/history",
    "core/releases/upload-path.ts",
    ...CLIENT,
    "cli/output",
    ...["boot", "dev", "import", "export", "monitor", "hosts", "mcp"].map((name) => `satellites/${name}`),
  ],

  "satellites/dashboard/model": ["core/base", "core/contract", "client"],
  "satellites/dashboard/parts": ["core/base", "core/contract", "satellites/dashboard/model"],
  ...Object.fromEntries(PAGES.map((page) => [page, PAGE])),
  "satellites/dashboard": [...PAGE, ...PAGES],
  "satellites/monitor": [...SEEN, "cli/output"],
  "satellites/hosts": [...SEEN, "core/http", "core/releases", "cli/output"],
  "satellites/mcp": [...SEEN, "cli/output"],
  "satellites/boot": SEEN,
  // It runs what the import makes, and reads keys as the monitor does.
  "satellites/dev": [
    ...SEEN,
    "cli/output",
    "satellites/import",
    "satellites/monitor/key-parser.ts",
    "satellites/monitor/terminal-keys.ts",
  ],
  "satellites/import": SEEN,
  "satellites/export": [...SEEN, "core/ipc", "core/supervisor"],
  "satellites/library": SEEN,
  "satellites/plugins": [...SEEN, "core/plugins", "core/plugins/shipped"],

  "cluster.ts": [],
  "executable.ts": [],
  "telemetry.ts": [],
  "index.ts": [
    ...GROUND,
    "core/supervisor",
    "core/config",
    "client",
    "core/plugins",
    "core/plugins/shipped",
    "satellites/library",
  ],
  "bin.ts": [
    "core/base/errors.ts",
    "core/config/nearest-folder.ts",
    "core/os/called-as.ts",
    "core/os/start-folder.ts",
    "core/keeper",
    "cli",
  ],
};

/**
 * Lines of each folder without its tests, a ledger: a commit that needs more changes the number, and says in its body
 * what could not be removed. A folder below another one counts there, too, unless it has a row.
 */
const BUDGETS: Readonly<Record<string, number>> = {
  "core/autoscale": 576,
  "core/balancer": 3_537,
  "core/base": 2_088,
  "core/config": 9_255,
  "core/contract": 5_278,
  "core/file-watcher": 1_180,
  "core/http": 1_725,
  "core/history": 730,
  "core/releases": 830,
  "core/incidents": 302,
  "core/ipc": 850,
  "core/keeper": 4_469,
  "core/log-store": 3_130,
  "core/logger": 2_729,
  "core/metrics": 1_052,
  "core/node-preload": 585,
  "core/os": 4_477,
  "core/plugins": 1_837,
  "core/probes": 435,
  "core/service": 18_289,
  "core/supervisor": 3_004,
  client: 875,
  "client/connection": 1_740,
  cli: 8_802,
  "cli/output": 867,
  "satellites/boot": 1_072,
  "satellites/dashboard": 6_827,
  "satellites/dev": 1_040,
  "satellites/export": 3_323,
  "satellites/hosts": 3_042,
  "satellites/import": 5_476,
  "satellites/library": 705,
  "satellites/mcp": 2_337,
  "satellites/monitor": 2_874,
  "satellites/plugins": 1_352,
};

/** Files of `cli` that are loaded by `import()` themselves. */
const LAZY = ["cli/commands/", "cli/exported-files.ts", "cli/take-over.ts"] as const;

/** Where each npm dependency may be imported; `folder/*` means anywhere below. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  "jsonc-parser": ["core/config/*"],
  croner: ["core/supervisor/schedule.ts", "core/config/checks/*"],
  commander: ["cli/*"],
  "string-width": ["satellites/monitor/text-clusters.ts"],
  diff: ["core/history/text-diff.ts"],
  tar: ["core/releases/archive.ts"],
  jose: ["core/contract/token.ts"],
  re2js: ["core/os/*"],
  yaml: ["satellites/import/yaml-text.ts", "satellites/export/yaml-file.ts"],
  "@modelcontextprotocol/sdk": ["satellites/mcp/*"],
  zod: ["satellites/mcp/serve.ts"],
  preact: ["satellites/dashboard/*"],
  uplot: ["satellites/dashboard/process/metric-chart.tsx"],
};

/** What scripts make of tables of the source: types alone, which every folder may import. */
const GENERATED = "../generated/";

/** Folders that run in a browser or must stay pure: no `node:` import. */
const NODE_FREE = [
  "core/base",
  "core/contract",
  "core/ipc",
  "core/supervisor",
  "core/autoscale",
  "client",
  "satellites/dashboard",
];

type Report = { readonly files: number; readonly imports: number; readonly problems: readonly string[] };

/** 1: there are problems, or no file, which means that the wrong folder was named. */
export function exitCodeOf({ files, problems }: Pick<Report, "files" | "problems">): 0 | 1 {
  return problems.length === 0 && files > 0 ? 0 : 1;
}

export function checkLayers(root: string): Report {
  const all = readdirSync(root, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.tsx?$/.test(file))
    .sort();
  const files = all.filter((file) => !/\.test\.tsx?$/.test(file));
  const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  const graph = new Map([...sources].map(([file, source]) => [file, importsOf(file, source)]));
  const problems = [
    ...all.filter((file) => EMPTY_NAME.test(file)).map((file) => `${file}: the name says nothing; name it by its role`),
    ...[...sources].flatMap(([file, source]) => [...tooLong(file, source), ...eager(file, source)]),
    ...overBudget(sources),
    ...files
      .filter((file) => LAYERS[layerOf(file)] === undefined)
      .map((file) => `${file}: "${layerOf(file)}" has no line in LAYERS`),
    ...[...graph].flatMap(([file, targets]) => targets.flatMap((target) => forbidden(file, target, sources))),
    ...circles(graph),
    ...circles(new Map(Object.entries(LAYERS))),
  ];
  return { files: files.length, imports: [...graph.values()].flat().length, problems };
}

function importsOf(file: string, source: string): string[] {
  return ts
    .preProcessFile(source)
    .importedFiles.map(({ fileName }) => fileName)
    .map((name) => (name.startsWith(".") ? posix.join(posix.dirname(file), name).replace(/\.js$/, ".ts") : name));
}

function tooLong(file: string, source: string): string[] {
  const lines = linesIn(source);
  return lines > MAX_LINES && !COMPOSITION_ROOTS.includes(file)
    ? [`${file}: ${lines} lines, more than ${MAX_LINES}; look for the second noun`]
    : [];
}

/** What a command loads with each start loads no satellite: there, `import type` and `import()` alone. */
function eager(file: string, source: string): string[] {
  if (!file.startsWith("cli/") || LAZY.some((place) => file.startsWith(place))) return [];
  return [...source.matchAll(/^(?:im|ex)port (?!type )[^;]*? from "([^"]*\/satellites\/[^"]*)"/gm)].map(
    ([, target]) => `${file} imports ${target} at once: load a satellite by import(), where it is used`,
  );
}

function overBudget(sources: ReadonlyMap<string, string>): string[] {
  const lines = new Map<string, number>();
  for (const [file, source] of sources) {
    const folder = budgetOf(file);
    if (folder !== undefined) lines.set(folder, (lines.get(folder) ?? 0) + linesIn(source));
  }
  return [...lines].flatMap(([folder, count]) => {
    const budget = BUDGETS[folder] ?? 0;
    return count > budget
      ? [`${folder}: ${count} lines, more than its budget of ${budget}; remove some, or change the number and say why`]
      : [];
  });
}

/** The longest row of the ledger that the file lies in. */
function budgetOf(file: string): string | undefined {
  const steps = file.split("/");
  const folders = [...steps.keys()].slice(1).map((count) => steps.slice(0, steps.length - count).join("/"));
  return folders.find((folder) => BUDGETS[folder] !== undefined);
}

function linesIn(source: string): number {
  return source.replace(/\n$/, "").split("\n").length;
}

function forbidden(file: string, target: string, sources: ReadonlyMap<string, string>): string[] {
  const from = layerOf(file);
  if (LAYERS[from] === undefined) return [];
  if (target.startsWith("node:"))
    return NODE_FREE.some((free) => from === free || (from.startsWith(`${free}/`) && from !== "client/connection"))
      ? [`${file} imports ${target}: "${from}" is node-free`]
      : [];
  if (sources.has(target)) return crosses(file, target);
  if (target.startsWith(GENERATED)) return [];
  if (/\.tsx?$/.test(target)) return [`${file} imports ${target}, which is not a source file`];
  return isHome(file, packageOf(target)) ? [] : [`${file} imports "${target}", which has no home here`];
}

function crosses(file: string, target: string): string[] {
  const from = layerOf(file);
  const to = layerOf(target);
  const allowed = LAYERS[from] ?? [];
  return from === to || allowed.includes(to) || allowed.includes(target)
    ? []
    : [`${file} imports ${target}: "${from}" may not import "${to}"`];
}

function isHome(file: string, name: string): boolean {
  return (HOMES[name] ?? []).some((home) => (home.endsWith("/*") ? file.startsWith(home.slice(0, -1)) : home === file));
}

/** `name/part` is part of `name`, `@scope/name/part` of `@scope/name`. */
function packageOf(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

/** The longest row of the table that the file lies in; else its first folder. */
function layerOf(file: string): string {
  const steps = file.split("/");
  const paths = [...steps.keys()].map((count) => steps.slice(0, steps.length - count).join("/"));
  return (
    paths.find((path) => LAYERS[path] !== undefined) ??
    steps.slice(0, Math.max(1, Math.min(2, steps.length - 1))).join("/")
  );
}

function circles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (node: string, path: readonly string[]): void => {
    const start = path.indexOf(node);
    if (start >= 0) found.push(`circle: ${[...path.slice(start), node].join(" -> ")}`);
    if (start >= 0 || done.has(node)) return;
    for (const target of edges.get(node) ?? []) visit(target, [...path, node]);
    done.add(node);
  };
  for (const node of edges.keys()) visit(node, []);
  return found;
}
