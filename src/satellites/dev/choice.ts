/** What `procman dev` runs in a folder, and why. */
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { ProcmanError } from "../../core/base/errors.ts";
import { type ConfigText, displayPath, read } from "../../core/config/config-file.ts";
import { FILE_NAMES, nearestFolder } from "../../core/config/nearest-folder.ts";

const PROCFILES = ["Procfile.dev", "Procfile"] as const;
const PACKAGE = "package.json";
const COMPOSE_FILES = ["compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"] as const;

/** `source`: a configuration of procman. `path`: a file that is imported; `isRefused`: its programs are in containers, which nobody has asked for. */
export type DevChoice = { readonly shownAs: string; readonly why: string } & (
  | { readonly source: ConfigText }
  | { readonly path: string; readonly isRefused: boolean }
);

export type ChoiceOptions = {
  /** Path of a configuration of procman, or its folder. */
  readonly config?: string | undefined;
  /** Path of any file that `import` reads. */
  readonly file?: string | undefined;
};

/** @throws {ProcmanError} `usage`, `configuration-missing` */
export function chosen({ config, file }: ChoiceOptions, cwd: string): DevChoice {
  if (config !== undefined && file !== undefined)
    throw new ProcmanError("usage", "Cannot run both: --config and --file each name a file; leave one of them out");
  const isOwn = file !== undefined && FILE_NAMES.some((name) => name === basename(file));
  if (file !== undefined && !isOwn) return { path: file, isRefused: false, ...told(file, "--file names it", cwd) };
  const given = isOwn ? file : config;
  if (given !== undefined || process.env.PROCMAN_CONFIG || nearestFolder(cwd) !== undefined) {
    const source = read(given, cwd);
    const why = given === undefined ? "" : `--${isOwn ? "file" : "config"} names it`;
    return { source, ...told(source.file, why, cwd) };
  }
  return foreign(cwd);
}

function foreign(cwd: string): DevChoice {
  const missing: string[] = [FILE_NAMES[0]];
  for (const name of [...PROCFILES, PACKAGE, ...COMPOSE_FILES]) {
    if (existsSync(join(cwd, name)))
      return {
        path: name,
        isRefused: COMPOSE_FILES.some((each) => each === name),
        ...told(name, `there is no ${missing.join(", no ")}`, cwd),
      };
    if (!COMPOSE_FILES.some((each) => each === name)) missing.push(name);
  }
  throw new ProcmanError(
    "configuration-missing",
    `Cannot find what to run in ${cwd}: there is no ${[...missing, COMPOSE_FILES[0]].join(", no ")}; "procman add PROGRAM" makes a configuration, --file names another file`,
  );
}

function told(file: string, why: string, cwd: string): Pick<DevChoice, "shownAs" | "why"> {
  return { shownAs: displayPath(resolve(cwd, file), cwd), why };
}
