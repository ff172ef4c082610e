/** The configuration that is made of a foreign file. It lies in the state folder, so nothing else of the project changes. */
import { readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ProcmanError } from "../../core/base/errors.ts";
import { stateDirOf } from "../../core/config/find-config.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { writeInStateFolder } from "../../core/os/state-folder.ts";
import { type ConfigurationDraft, idOf } from "../import/configuration-draft.ts";
import { importFiles } from "../import/importer.ts";

export type ForeignConfiguration = {
  /** Absolute path of what was written. */
  readonly file: string;
  readonly ids: readonly string[];
  /** Names of what can't be run. */
  readonly left: readonly string[];
  /** Processes that have another id than their name, as that is taken: where, and which. */
  readonly renamed: readonly string[];
  /** Absolute paths of the files that it depends on; some may not exist. */
  readonly sources: readonly string[];
};

export type ForeignOptions = {
  /** Folder that the path resolves from. */
  readonly cwd: string;
  /** The file is only looked at: the error says why it isn't run. */
  readonly isRefused: boolean;
};

/** Files beside the one that is named, which some importers read. */
const BESIDE = [".env", "pnpm-workspace.yaml"] as const;

/** @throws {ProcmanError} those of `importFiles`, `configuration-invalid`: nothing of it can be run; `state-folder` */
export async function foreignConfiguration(
  path: string,
  { cwd, isRefused }: ForeignOptions,
): Promise<ForeignConfiguration> {
  const isInput = path === "-";
  const folder = isInput ? cwd : dirname(resolve(cwd, path));
  const name = idOf(basename(folder));
  const file = join(stateDirOf(folder, name), `${isInput ? "stdin" : basename(path)}.jsonc`);
  const kind = basename(path) === "package.json" ? "package" : undefined;
  const { configuration, text } = await importFiles([path], { file, cwd, kind, name, runsIn: folder });
  if (isRefused) throw inContainers(path, configuration);
  if (configuration.processes.length === 0) throw nothingToRun(path, configuration);
  if (textOf(file) !== text) writeInStateFolder(file, text);
  const origins = configuration.processes.map(({ origin }) => resolve(cwd, origin));
  return {
    file,
    ids: configuration.processes.map(({ id }) => id),
    left: configuration.dropped.map((draft) => draft.name),
    renamed: configuration.processes
      .filter(({ id, name }) => id !== idOf(name))
      .flatMap(({ origin, notes }) =>
        notes.filter(({ field }) => field === "name").map(({ advice }) => `${origin}: ${advice}`),
      ),
    sources: [...new Set([resolve(cwd, path), ...origins, ...BESIDE.map((each) => join(folder, each))])],
  };
}

function textOf(file: string): string | undefined {
  return statIfSeen(file)?.isFile() === true ? readFileSync(file, "utf8") : undefined;
}

function inContainers(path: string, { processes, dropped }: ConfigurationDraft): ProcmanError {
  const names = [...processes, ...dropped].map((draft) => draft.name).join(", ");
  return new ProcmanError(
    "configuration-invalid",
    `Cannot run ${path}: its services (${names}) are made for containers; "docker compose up" runs them, "procman dev --file ${path}" runs what "procman import ${path} --check" makes of them`,
  );
}

function nothingToRun(path: string, { dropped }: ConfigurationDraft): ProcmanError {
  const why = dropped.flatMap(({ name, notes }) => notes.map(({ field, advice }) => `\n  ${name}: ${field} ${advice}`));
  return new ProcmanError("configuration-invalid", `Cannot run ${path}: nothing of it can be run${why.join("")}`);
}
