/** The rules of the source tree: which folder may import which, where packages live, how long a file may be, what it may not be called. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";

const MAX_LINES = 400;
const EMPTY_NAME = /(?:^|[-_./])(?:utils?|helpers?|common|managers?)(?=[-_./])/i;

/** What everything of procman's own processes stands on. */
const GROUND = ["base", "os", "ipc", "contract"] as const;

const CAPABILITIES = [
  ...GROUND,
  "supervisor",
  "log-store",
  "config",
  "file-watcher",
  "probes",
  "metrics",
  "incidents",
  "plugins",
  "http",
] as const;

/** The inner layers of `service/`, the lowest first: each may import those before it. */
const SERVICE = [
  "service/system-clock.ts",
  "service/recovery/config-snapshot.ts",
  "service/recovery/notes.ts",
  "service/spec-registry.ts",
  "service/subsystem.ts",
  "service/keeper-channel.ts",
  "service/reporting",
  "service/spawn",
  "service/recovery",
  "service/config",
  "service/balancer",
  "service/operations",
  "service/http",
  "service",
] as const;

/** Folders of `dashboard` that know nothing of each other. */
const DASHBOARD_PAGES = ["overview", "logs", "process", "pages"] as const;

/** A folder of `src/`, or a file (`*`: in any folder), and the folders it may import. A folder may always import itself; the longest row counts. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  os: ["base", "contract"],
  contract: ["base"],
  ipc: ["base", "contract"],
  supervisor: ["base"],
  "log-store": ["base", "os", "ipc", "contract"],
  "plugins/shipped/*/options.ts": ["base", "contract"],
  "plugins/shipped/shipped-plugins.ts": ["base", "plugins/shipped/*/options.ts"],
  config: ["base", "os", "contract", "ipc", "supervisor", "plugins/shipped/shipped-plugins.ts"],
  keeper: GROUND,
  logger: [...GROUND, "log-store"],
  balancer: GROUND,
  "file-watcher": ["base", "os"],
  probes: ["base", "os", "contract"],
  metrics: ["base", "os", "contract", "supervisor", "log-store"],
  incidents: ["base", "os", "contract", "log-store"],
  plugins: [...GROUND, "log-store", "plugins/shipped/*/options.ts"],
  http: ["base", "contract", "os/error-output.ts"],
  client: ["base", "contract"],
  "dashboard/model": ["base", "contract", "client"],
  "dashboard/parts": ["base", "contract", "dashboard/model"],
  ...Object.fromEntries(
    DASHBOARD_PAGES.map((page) => [`dashboard/${page}`, ["base", "contract", "client", "dashboard/model", "dashboard/parts"]]),
  ),
  dashboard: ["base", "contract", "client", "dashboard/model", "dashboard/parts", ...DASHBOARD_PAGES.map((page) => `dashboard/${page}`)],
  connection: ["base", "os", "contract", "log-store", "incidents", "config", "client"],
  boot: ["base", "os", "contract", "config"],
  ...Object.fromEntries(SERVICE.map((row, level) => [row, [...CAPABILITIES, ...SERVICE.slice(0, level)]])),
  library: ["base", "os", "contract", "config", "client", "connection"],
  import: ["base", "os", "config"],
  export: ["base", "contract", "ipc", "supervisor", "config"],
  "cli/output": ["base", "os", "contract"],
  "cli/monitor": ["base", "os", "contract", "client", "connection", "cli/output"],
  "cli/hosts": ["base", "os", "contract", "client", "connection", "http", "cli/output"],
  cli: [
    "cli/output",
    "cli/monitor",
    "cli/hosts",
    ...GROUND,
    "log-store",
    "config",
    "client",
    "connection",
    "boot",
    "import",
    "export",
    "http",
  ],
  "cluster.ts": [],
  "executable.ts": [],
  "node-preload": [],
  "telemetry.ts": [],
  "index.ts": ["base", "contract", "ipc", "supervisor", "config", "client", "plugins", "plugins/shipped/shipped-plugins.ts", "library"],
  "bin.ts": ["keeper", "cli"],
};

/** Where each npm dependency may be imported; `folder/*` means anywhere below. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  "jsonc-parser": ["config/*"],
  croner: ["supervisor/schedule.ts", "config/checks/*"],
  commander: ["cli/*"],
  "string-width": ["cli/monitor/text-clusters.ts"],
  jose: ["contract/token.ts"],
  yaml: ["import/yaml-text.ts", "export/yaml-file.ts"],
  preact: ["dashboard/*"],
  uplot: ["dashboard/process/metric-chart.tsx"],
};

/** Folders that run in a browser or must stay pure: no `node:` import. */
const NODE_FREE = ["base", "contract", "ipc", "supervisor", "client", "dashboard"];

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
    ...[...sources].flatMap(([file, source]) => tooLong(file, source)),
    ...files.filter((file) => LAYERS[layerOf(file)] === undefined).map((file) => `${file}: "${layerOf(file)}" has no line in LAYERS`),
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
  const lines = source.replace(/\n$/, "").split("\n").length;
  return lines > MAX_LINES ? [`${file}: ${lines} lines, more than ${MAX_LINES}; look for the second noun`] : [];
}

function forbidden(file: string, target: string, sources: ReadonlyMap<string, string>): string[] {
  const from = layerOf(file);
  if (LAYERS[from] === undefined) return [];
  if (target.startsWith("node:"))
    return NODE_FREE.includes(from.split("/")[0] as string) ? [`${file} imports ${target}: "${from}" is node-free`] : [];
  if (sources.has(target)) return crosses(file, target);
  if (/\.tsx?$/.test(target)) return [`${file} imports ${target}, which is no source file`];
  return isHome(file, packageOf(target)) ? [] : [`${file} imports "${target}", which has no home here`];
}

function crosses(file: string, target: string): string[] {
  const [from, to] = [layerOf(file), layerOf(target)];
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
  // `folder/*/file.ts` stands for the file in any folder.
  paths.splice(1, 0, [...steps.slice(0, -2), "*", ...steps.slice(-1)].join("/"));
  return paths.find((path) => LAYERS[path] !== undefined) ?? (steps[0] as string);
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
