/** `package.json`: the scripts `dev` of the packages of a workspace; without any, its own `dev` or `start`. */
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { globTest, isPattern } from "../../core/base/glob.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { managerOf, packageIn, packageName, scriptsIn } from "../../core/config/package-file.ts";
import { statIfSeen } from "../../core/os/files.ts";
import type { ConfigurationDraft } from "./configuration-draft.ts";
import { SourceFault } from "./source-fault.ts";
import { type ForeignFile, withPlace } from "./source-file.ts";
import { readYaml } from "./yaml-text.ts";

const DEV = "dev";
/** File of pnpm, beside `package.json`. */
const PNPM_WORKSPACE = "pnpm-workspace.yaml";
/** A server for development that holds on to its connections isn't waited for. Seconds. */
const STOP_TIMEOUT = 5;

/** `readFile`: reads a file beside it. @throws {SourceFault} it has no script that could be run */
export function importPackage(
  source: ForeignFile,
  configuration: ConfigurationDraft,
  readFile: (path: string) => ForeignFile,
): void {
  const root = dirname(source.file);
  const manager = managerOf(root);
  const patterns = patternsIn(root, readFile);
  const members = workspaceFolders(root, patterns);
  const developed = members.filter((folder) => scriptsIn(folder).includes(DEV));
  configuration.merge("logger", { console: true });
  const script = [DEV, "start"].find((name) => scriptsIn(root).includes(name));
  const runs = developed.length > 0 ? developed.map((folder) => ({ folder, script: DEV })) : [{ folder: root, script }];
  for (const run of runs) {
    if (run.script === undefined) throw nothingIn(root, patterns, members);
    const name = packageName(packageIn(run.folder)) ?? basename(run.folder);
    const cwd = configuration.path(run.folder, ".");
    configuration
      .add(name, join(dirname(source.shownAs), relative(root, run.folder), "package.json"))
      .set("cmd", `${manager} run ${run.script}`)
      .set("cwd", cwd === "." ? undefined : cwd)
      .set("autostart", true)
      .set("stdin", true)
      .set("restart", "never")
      .set("terminateTimeout", STOP_TIMEOUT);
  }
}

function nothingIn(root: string, patterns: readonly string[], members: readonly string[]): SourceFault {
  const scripts = scriptsIn(root);
  const [first] = scripts;
  const names = members.map((folder) => relative(root, folder)).join(", ");
  const workspaces =
    names === ""
      ? `, and ${patterns.join(", ")} finds no workspace`
      : `, and no workspace (${names}) has a script "dev"`;
  const none = patterns.length === 0 ? "" : workspaces;
  const remedy =
    first === undefined
      ? '"procman add PROGRAM" makes a configuration of a program'
      : `it has ${scripts.join(", ")}: "procman add npm:${first}" makes a configuration of one`;
  return new SourceFault({ line: 1, column: 1 }, `found no script "dev" or "start"${none}; ${remedy}`);
}

/** Patterns of npm, Yarn and bun, and of pnpm. */
function patternsIn(root: string, readFile: (path: string) => ForeignFile): readonly string[] {
  const { workspaces } = packageIn(root) ?? {};
  const own = isObject(workspaces) ? workspaces.packages : workspaces;
  const file = join(root, PNPM_WORKSPACE);
  const ofPnpm = existsSync(file) ? packagesOf(readFile(file)) : undefined;
  const patterns = [own, ofPnpm].flat().filter((each) => typeof each === "string");
  return [...new Set(patterns)];
}

function packagesOf(source: ForeignFile): unknown {
  const data = withPlace(source, () => readYaml(source.text));
  return isObject(data) ? data.packages : undefined;
}

/** Folders with a `package.json`, in the order of the patterns; those of a pattern behind `!` are left out. */
function workspaceFolders(root: string, patterns: readonly string[]): readonly string[] {
  const plain = (pattern: string): string => pattern.replace(/^!/, "").replace(/^\.\//, "").replace(/\/$/, "");
  const isLeftOut = globTest(patterns.filter((each) => each.startsWith("!")).map(plain));
  const found = patterns
    .filter((each) => !each.startsWith("!"))
    .flatMap((pattern) => foldersLike(root, plain(pattern).split("/")));
  return [...new Set(found)].filter(
    (folder) => folder !== root && !isLeftOut(relative(root, folder)) && existsSync(join(folder, "package.json")),
  );
}

function foldersLike(folder: string, [step, ...rest]: readonly string[]): readonly string[] {
  if (step === undefined) return [folder];
  if (!isPattern(step)) {
    const next = join(folder, step);
    return statIfSeen(next)?.isDirectory() === true ? foldersLike(next, rest) : [];
  }
  const inner = foldersIn(folder);
  if (step === "**")
    return [...foldersLike(folder, rest), ...inner.flatMap((name) => foldersLike(join(folder, name), [step, ...rest]))];
  return inner.filter(globTest([step])).flatMap((name) => foldersLike(join(folder, name), rest));
}

/** No packages are in what package managers and tools write. */
function foldersIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith("."))
    .map(({ name }) => name)
    .sort();
}
