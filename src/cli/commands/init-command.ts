/** `procman init`: creates a configuration file. */

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { compact } from "../../core/base/compact.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { FILE_NAMES } from "../../core/config/nearest-folder.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import type { YesNoQuestion } from "../edit-file.ts";
import { printDone } from "../output/done.ts";
import { type ProcessOptions, processOf, withProcessOptions } from "../process-options.ts";

const DOCKER_IGNORE = ".dockerignore";
/** Keeps `.procman`, which has a secret and stored output, out of images that are built in a folder. */
const STATE_PATTERN = "**/.procman";
const STATE_IS_COPIED = `${DOCKER_IGNORE} has no line ${STATE_PATTERN}: "COPY . ." copies procman's secret and stored output into the image`;

export function define(parent: Command): void {
  const command = parent
    .command("init")
    .description(
      "Creates a configuration file with one process. Asks for missing options at a terminal; scripts must give --id and --cmd or --worker.",
    )
    .option("--name <name>", "name of this procman (default: the folder's name)");
  withProcessOptions(command)
    .option("-c, --config <path>", "file to create (default: procman.jsonc in this folder)")
    .option("--force", "overwrite an existing file")
    .option("--apply", "with --force: apply it to the running procman, like `procman reload`")
    .option("--json", "print file and process")
    .action(init);
}

type Options = ProcessOptions & {
  readonly name?: string;
  readonly config?: string;
  readonly force?: boolean;
  readonly apply?: boolean;
};

/** `ignoresState`: whether `.procman` is to be added to `.dockerignore`; absent: not asked. */
type InitAnswers = Options & { readonly ignoresState?: boolean };

async function init(given: Options): Promise<void> {
  const [{ displayPath: shown }, { check }, { appendProcess }, { createFile, replaceFile }, { printWarnings }] =
    await Promise.all([
      import("../../core/config/config-file.ts"),
      import("../../core/config/load.ts"),
      import("../../core/config/edit/edit.ts"),
      import("../edit-file.ts"),
      import("../edit-file.ts"),
    ]);
  const cwd = startFolder(given.config);
  const file = fileToCreate(given.config, cwd);
  const shownAs = shown(file, cwd);
  const exists = existsSync(file);
  if (exists && given.force !== true)
    throw new ProcmanError(
      "file-exists",
      `Cannot create ${shownAs}: it already exists; --force overwrites it, \`procman append\` adds a process`,
    );
  const options = await completed(given, dirname(file));
  const text = appendProcess(
    starter(options.name ?? nameOf(dirname(file))),
    processOf(options, "create a configuration"),
  );
  const config = check({ file, shownAs, text });
  await (exists ? replaceFile : createFile)(file, text);
  const [{ afterEdit }, { isRunning }] = await Promise.all([import("../after-edit.ts"), import("../unapplied.ts")]);
  const remedy = isRunning(file) ? "" : "; `procman run` starts it";
  printDone(`${shownAs}: created${remedy}`, { file, process: options.id ?? "", changed: true });
  printWarnings(config, { file, shownAs, text });
  if (options.ignoresState === true) ignoreState(dirname(file));
  else if (options.ignoresState === undefined && wouldCopyState(dirname(file)))
    process.stderr.write(`procman: ${STATE_IS_COPIED}\n`);
  await afterEdit(given.config, given.apply);
}

/** The options, with missing ones asked at the terminal. */
async function completed(options: Options, folder: string): Promise<InitAnswers> {
  const complete = options.id !== undefined && (options.cmd !== undefined || options.worker !== undefined);
  if (complete || !process.stdin.isTTY || !process.stdout.isTTY) return options;
  const [{ ask }, { NAME_PATTERN }] = await Promise.all([
    import("../edit-file.ts"),
    import("../../core/config/fields/field.ts"),
  ]);
  const refuse = (answer: string): string | undefined =>
    NAME_PATTERN.test(answer)
      ? undefined
      : 'Use 1 to 64 characters from a-z, 0-9, ".", "_" and "-", but not "." or ".." alone';
  const needsCommand = options.cmd === undefined && options.worker === undefined;
  const asksForImages = wouldCopyState(folder);
  const answers = await ask(
    [
      { text: "Name of this procman", default: options.name ?? nameOf(folder), refuse },
      { text: "Id of the first process", default: options.id ?? "app", refuse },
      ...(needsCommand ? [{ text: "Its command line" }] : []),
      yesOrNo("Start it whenever procman starts", options.autostart !== false),
      ...(asksForImages
        ? [yesOrNo("Keep .procman (a secret, stored output) out of images with .dockerignore", true)]
        : []),
    ],
    { input: process.stdin, output: process.stdout },
  );
  if (answers === undefined) throw new ProcmanError("usage", "Cannot create a configuration: the input ended early");
  const [name = "", id = "", cmd = ""] = answers;
  const [autostart, ignoresState] = answers.slice(needsCommand ? 3 : 2).map((answer) => /^y/i.test(answer));
  return compact({
    ...options,
    name,
    id,
    ...(needsCommand && { cmd }),
    autostart,
    ignoresState,
  });
}

function yesOrNo(question: string, isDefault: boolean): YesNoQuestion {
  return {
    text: `${question}, y or n`,
    default: isDefault ? "y" : "n",
    refuse: (answer) => (/^(y|yes|n|no)$/i.test(answer) ? undefined : "Answer y or n"),
  };
}

/** The folder's name, or the name of a program, reduced to the characters that a name may have. */
export function nameOf(folder: string): string {
  const letters = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[-.]+/, "");
  const name = withoutEnd(letters, "-").slice(0, 64);
  return name === "" ? "procman" : name;
}

/** The file that `--config` or PROCMAN_CONFIG names, or the usual one in the folder that they name, or in `cwd`. It may not exist. */
export function fileToCreate(path: string | undefined, cwd: string): string {
  const named = path ?? (process.env.PROCMAN_CONFIG || undefined);
  const place = resolve(cwd, named ?? "");
  if (named !== undefined && statIfSeen(place)?.isDirectory() !== true) return place;
  const candidates = FILE_NAMES.map((name) => join(place, name));
  return candidates.find((file) => existsSync(file)) ?? join(place, FILE_NAMES[0]);
}

/** A configuration without processes. */
export function starter(name: string): string {
  return `{
  // What procman runs here. Start it with \`procman run\`, check this file with \`procman validate\`.
  // \`procman schema > procman.schema.json\`, and "$schema": "./procman.schema.json" here, let editors complete.
  "name": ${JSON.stringify(name)},

  // For every process; each may have its own "logger". Files: "stdout": "logs/{id}.log"
  "logger": { "console": true, "colors": true },

  // Each has an "id", "cmd" or "worker", and what starts it: "autostart" or "cron".
  "processes": []
}
`;
}

/** Whether an image is built in this folder, and would get `.procman` by `COPY . .`. */
function wouldCopyState(folder: string): boolean {
  const text = textIn(folder);
  if (text === undefined) return ["Dockerfile", "Containerfile"].some((name) => existsSync(join(folder, name)));
  return !text.split("\n").some((line) => /^(?:\*|(?:\/|\*\*\/)?\.procman(?:\/\**)?)$/.test(line.trim()));
}

/** Adds the line to `.dockerignore`, which is created if there is none. */
function ignoreState(folder: string): void {
  const text = textIn(folder) ?? "";
  appendFileSync(join(folder, DOCKER_IGNORE), `${text === "" || text.endsWith("\n") ? "" : "\n"}${STATE_PATTERN}\n`);
}

function textIn(folder: string): string | undefined {
  const file = join(folder, DOCKER_IGNORE);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}
