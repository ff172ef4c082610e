/** The rules of the source tree: which folder may import which, where packages live, how long a file may be, what it may not be called. */
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import ts from "typescript";

const MAX_LINES = 250;
const EMPTY_NAME = /(?:^|[-_./])(?:utils?|helpers?|common|managers?)(?=[-_./])/i;

const LEVEL_2 = [
  "api",
  "logs",
  "telemetry",
  "plugins",
  "config",
  "runtime",
  "cluster",
  "install",
  "client",
  "tui",
  "keeper",
  "watch",
  "probes",
] as const;

/** A folder of `src/` and the folders it may import. A folder may always import itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  base: [],
  os: ["base"],
  contract: ["base"],
  store: ["base", "contract", "os"],
  supervisor: ["base"],
  config: ["base", "contract", "supervisor"],
  runtime: ["base", "contract", "os", "supervisor"],
  keeper: ["base", "contract", "os"],
  logs: ["base", "contract", "os", "store"],
  api: ["base", "contract"],
  telemetry: ["base", "contract", "os", "store"],
  plugins: ["base", "contract", "os", "store"],
  probes: ["base", "contract", "os"],
  cluster: ["base", "contract", "os"],
  watch: ["base", "os"],
  client: ["base", "contract"],
  tui: ["base", "contract"],
  install: ["base", "contract"],
  web: ["base", "contract", "client"],
  remote: ["base", "contract", "os", "store", "telemetry", "config", "client"],
  library: ["base", "contract", "os", "config", "client", "remote"],
  service: ["base", "contract", "os", "store", "supervisor", ...LEVEL_2],
  cli: ["base", "contract", "os", "store", "config", "client", "remote", "tui", "install"],
  "index.ts": ["base", "contract", "supervisor", "config", "client", "plugins", "service", "library"],
  "bin.ts": ["base", "contract", "keeper", "cli"],
};

/** Where each npm dependency may be imported; `folder/*` means anywhere below. */
const HOMES: Readonly<Record<string, readonly string[]>> = {
  zod: ["config/zod-schema.ts"],
  "jsonc-parser": ["config/*"],
  croner: ["supervisor/schedule.ts", "config/checks.ts"],
  commander: ["cli/*"],
  jose: ["contract/token.ts"],
};

/** Folders that run in a browser or must stay pure: no `node:` import. */
const NODE_FREE = new Set(["base", "contract", "supervisor", "client", "web"]);

type Report = { readonly files: number; readonly imports: number; readonly problems: readonly string[] };

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
  if (target.startsWith("node:")) return NODE_FREE.has(from) ? [`${file} imports ${target}: "${from}" is node-free`] : [];
  if (sources.has(target)) return crosses(file, target);
  if (/\.tsx?$/.test(target)) return [`${file} imports ${target}, which is no source file`];
  return isHome(file, packageOf(target)) ? [] : [`${file} imports "${target}", which has no home here`];
}

function crosses(file: string, target: string): string[] {
  const [from, to] = [layerOf(file), layerOf(target)];
  return from === to || LAYERS[from]?.includes(to) ? [] : [`${file} imports ${target}: "${from}" may not import "${to}"`];
}

function isHome(file: string, name: string): boolean {
  return (HOMES[name] ?? []).some((home) => (home.endsWith("/*") ? file.startsWith(home.slice(0, -1)) : home === file));
}

/** `zod/mini` is part of `zod`, `@scope/name/part` of `@scope/name`. */
function packageOf(name: string): string {
  return name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");
}

function layerOf(file: string): string {
  return file.split("/")[0] as string;
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
