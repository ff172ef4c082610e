/** Files that procman writes for processes: none of them may be one that it reads, or that has another content. */
import { type JsonPath, showPath } from "../document.ts";
import { DEFAULT_NAME, stateDirOf } from "../find-config.ts";
import { instances } from "../instances.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, type NameOf, show } from "../problems.ts";
import { envFilesIn, fileOf, fill, unknownPlaceholder } from "./command-checks.ts";
import { pathIn } from "./home-paths.ts";
import { sourceOf } from "./plugin-checks.ts";
import { RealFiles } from "./real-files.ts";
import { filesFor } from "./referenced-files.ts";

type WrittenContext = {
  readonly folder: string;
  readonly parallelism: number;
  /** Absolute paths of the main file, and of those that it includes. */
  readonly files?: readonly string[];
  readonly nameOf?: NameOf;
};

/** A file, and where the configuration names it. */
type FileMention = { readonly file: string; readonly path: JsonPath };
type OwnedFile = { readonly file: string; readonly owner: string };
type WrittenFile = FileMention & { readonly pattern: string; readonly isPidFile: boolean };

/** Logs may be shared; two processes with one pid file are found elsewhere. */
export function writtenFileErrors(config: PartialConfig, context: WrittenContext): readonly Finding[] {
  const written = (config.processes ?? []).flatMap((process, index) =>
    writtenBy(process ?? {}, ["processes", index], { config, ...context }),
  );
  if (written.length === 0) return [];
  const real = new RealFiles();
  const stateDir = real.at(stateDirOf(context.folder, config.name ?? DEFAULT_NAME)).path;
  const readers = ownersOf(readFiles(config, context), real);
  const logs = ownersOf(
    written
      .filter(({ isPidFile }) => !isPidFile)
      .map((log) => ({ ...log, owner: `the log file of ${nameOf(log, context)}` })),
    real,
  );
  const ownerOf = ({ file, isPidFile }: WrittenFile): string | undefined => {
    const { path, key } = real.at(file);
    if (overlap(stateDir, path)) return "which belongs to procman's state folder";
    return key === undefined ? undefined : (readers.get(key) ?? (isPidFile ? logs.get(key) : undefined));
  };
  const found = written.flatMap((each): readonly Finding[] => {
    const owner = ownerOf(each);
    const message = `Found ${show(each.pattern)}, ${owner}: procman would overwrite it. Allowed: a file used for nothing else.`;
    return owner === undefined ? [] : [{ path: each.path, message }];
  });
  // A common pattern has many files.
  return [...new Map(found.map((finding) => [showPath(finding.path), finding])).values()];
}

function ownersOf(files: readonly OwnedFile[], real: RealFiles): ReadonlyMap<string, string> {
  return new Map(
    files.flatMap(({ file, owner }) => {
      const { key } = real.at(file);
      return key === undefined ? [] : [[key, owner] as const];
    }),
  );
}

function nameOf({ path }: FileMention, { nameOf: named = showPath }: WrittenContext): string {
  return named(path);
}

type ProcessContext = WrittenContext & { readonly config: PartialConfig };

function writtenBy(
  process: PartialProcess,
  path: JsonPath,
  { config, folder, parallelism }: ProcessContext,
): readonly WrittenFile[] {
  const { logger, pidFile } = process;
  const common = config.logger;
  const own = (key: "stdout" | "stderr"): [string | undefined, JsonPath] => [logger?.[key], [...path, "logger", key]];
  const inherited = (key: "stdout" | "stderr"): [string | undefined, JsonPath] => [common?.[key], ["logger", key]];
  const patterns = [
    logger?.stdout === undefined ? inherited("stdout") : own("stdout"),
    logger?.stderr === undefined && logger?.stdout === undefined ? inherited("stderr") : own("stderr"),
    [pidFile, [...path, "pidFile"]] as const,
  ];
  return patterns.flatMap(([pattern, place]) =>
    pattern === undefined || unknownPlaceholder(pattern) !== undefined
      ? []
      : instances(process, config.name ?? DEFAULT_NAME, parallelism).map((names) => ({
          file: pathIn(folder, fill(pattern, names), process.user),
          path: place,
          pattern,
          isPidFile: place.at(-1) === "pidFile",
        })),
  );
}

/** What procman and the processes read; the configuration itself last, as it counts most. */
function readFiles(config: PartialConfig, context: WrittenContext): readonly OwnedFile[] {
  const { processes = [], plugins = [], api } = config;
  const { files: [main, ...included] = [], folder } = context;
  const tls = api === false ? undefined : api?.tls;
  const named = [
    ...(["certificate", "key"] as const).flatMap((key) => fileAt(tls?.[key], ["api", "tls", key], folder)),
    ...plugins.flatMap((plugin, index) => {
      const source = plugin?.url === undefined ? undefined : sourceOf(plugin.url, folder);
      return source?.kind === "file" ? fileAt(source.path, ["plugins", index, "url"], folder) : [];
    }),
    ...processes.flatMap((process, index) => readBy(process ?? {}, ["processes", index], { config, ...context })),
  ];
  return [
    ...named.map((each) => ({ ...each, owner: `which ${nameOf(each, context)} reads` })),
    ...included.map((file) => ({ file, owner: "which the configuration includes" })),
    ...(main === undefined ? [] : [{ file: main, owner: "the configuration file itself" }]),
  ];
}

function fileAt(
  file: string | undefined,
  path: JsonPath,
  folder: string,
  user?: string | number,
): readonly FileMention[] {
  return file === undefined ? [] : [{ file: pathIn(folder, file, user), path }];
}

/** Env files, standard input, secrets and the script. */
function readBy(
  process: PartialProcess,
  path: JsonPath,
  { config, ...context }: ProcessContext,
): readonly FileMention[] {
  const secrets = ({ env = {} }: PartialProcess, at: JsonPath): readonly (readonly [unknown, JsonPath])[] =>
    Object.entries(env).map(([name, value]) => [fileOf(value), [...at, "env", name, "file"]]);
  const named = [
    ...[...envFilesIn(config.envFile, ["envFile"]), ...envFilesIn(process.envFile, [...path, "envFile"])].map(
      ({ file, place }) => [file, place] as const,
    ),
    [fileOf(process.stdin), [...path, "stdin", "file"]] as const,
    ...secrets({ env: config.env }, []),
    ...secrets(process, path),
  ];
  return [
    ...named.flatMap(([file, place]) =>
      typeof file === "string" ? filesFor(file, process, context).map((each) => ({ file: each, path: place })) : [],
    ),
    ...fileAt([process.worker].flat()[0], [...path, "worker"], context.folder, process.user),
  ];
}

/** Whether one is the other, or is in it. */
function overlap(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
