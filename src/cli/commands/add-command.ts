/** `procman add`: adds a program to the configuration file, and starts it: one command from nothing to running. */
import { existsSync, promises as fs, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Command } from "commander";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import { displayPath, read } from "../../core/config/config-file.ts";
import { appendProcess, processIn, removeProcess } from "../../core/config/edit/edit.ts";
import { check } from "../../core/config/load.ts";
import { isNamed } from "../../core/config/run-selection.ts";
import type { Config } from "../../core/config/spec.ts";
import type { PlannedChange } from "../../core/contract/plan.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { connect } from "../connected.ts";
import { runDetached } from "../detach.ts";
import { createFile, replaceFile } from "../edit-file.ts";
import { withConfig } from "../options.ts";
import { printDone, printRemark } from "../output/done.ts";
import { isJson, reportRefusal } from "../output/error-report.ts";
import { statusTable } from "../output/status-table.ts";
import { hasChanges, printPlan } from "../plan-table.ts";
import { type ProcessOptions, processOf, withSettings } from "../process-options.ts";
import { programToAdd } from "../program-to-add.ts";
import { isRunning } from "../unapplied.ts";
import { appendToFile } from "./append-command.ts";
import { fileToCreate, nameOf, starter } from "./init-command.ts";
import { reload } from "./reload-command.ts";

export function define(parent: Command): void {
  withSettings(
    withConfig(
      parent
        .command("add")
        .description(
          "Adds a program to the configuration file (which is created if there is none) and starts it: in the running procman, as `procman reload` does, or by starting procman in the background. If it doesn't start, nothing is added.",
        )
        .argument(
          "<command...>",
          'what to run: a script (server.js, .ts, .py, .sh), a folder with package.json, one of its scripts (npm:dev), or a program and its arguments, after "--"; one argument with spaces is a command line for /bin/sh',
        )
        .option("--id <id>", "name of the process (default: that of the program or its script)")
        .option("--json", "print file and process, and whether the file was changed"),
    ),
  ).action(add);
}

/** A reload that takes the process back stops it. */
const UNDO_SECONDS = 60;

type Options = Omit<ProcessOptions, "cmd" | "worker"> & { readonly config?: string; readonly json?: boolean };

/** What is written, and where. */
type Addition = { readonly id: string; readonly file: string; readonly shownAs: string; readonly cmd: string };

async function add(words: readonly string[], { config: path, json = false, ...options }: Options): Promise<void> {
  const here = startFolder(path);
  const { cmd, name, cwd } = programToAdd(words, resolve(here, options.cwd ?? ""));
  const present = existing(() => read(path, here));
  const file = present?.file ?? fileToCreate(path, here);
  const id = options.id ?? nameOf(name);
  const added = processOf({ ...options, id, cmd, ...cwdIn(dirname(file), cwd) }, "add a program");
  const addition = { id, file, shownAs: displayPath(file, here), cmd };
  const undo = await write(addition, added, present?.text);
  try {
    const isUp = isRunning(file)
      ? await startInRunning(addition)
      : (await runDetached({ config: file, trial: id })) !== undefined;
    if (isUp) {
      if (json) printDone("", { file, process: id, changed: undo !== undefined });
      else if (present === undefined) printHints(addition, options);
      return;
    }
  } catch (error) {
    // It continues, and may still come up.
    if (error instanceof ProcmanError && error.code === "wait-timeout") throw error;
    await undo?.();
    throw error;
  }
  process.exitCode = EXIT.refused;
  if (undo === undefined) return;
  await undo();
  const left = present === undefined ? "no file is written" : `it is not added to ${addition.shownAs}`;
  const message = `Cannot add ${JSON.stringify(id)}: it doesn't start, so ${left}`;
  reportRefusal(new ProcmanError("process-failed", message, { processes: [id] }));
}

/** undefined: there is no file, or it can't be used; then the attempt to create it reports the reason. */
function existing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProcmanError && error.code === "configuration-missing") return undefined;
    throw error;
  }
}

/** Short where it is the folder of the file, or below it. */
function cwdIn(folder: string, cwd: string): Pick<Options, "cwd"> {
  if (folder === cwd || statIfSeen(cwd)?.isDirectory() !== true) return {};
  const below = relative(folder, cwd);
  return { cwd: below.startsWith("..") ? cwd : below };
}

/**
 * Writes the process into the file. Returns what takes it back; undefined: the file had it already.
 *
 * @throws {ProcmanError} `usage`: another process has its id; those of `check`, and of writing
 */
async function write(
  addition: Addition,
  added: Readonly<Record<string, unknown>>,
  before: string | undefined,
): Promise<(() => Promise<void>) | undefined> {
  const { id, file, shownAs, cmd } = addition;
  if (before === undefined) {
    const text = appendProcess(starter(nameOf(dirname(file))), added);
    const removeTraces = removerOf(check({ file, shownAs, text }));
    await createFile(file, text);
    printRemark(`${shownAs}: created with ${JSON.stringify(id)}: ${cmd}`);
    return async () => {
      await takeBack(addition, text, before);
      removeTraces();
    };
  }
  const same = processIn(before, id);
  if (same !== undefined && !isDeepStrictEqual(same, added))
    throw new ProcmanError(
      "usage",
      `Cannot add ${JSON.stringify(id)}: ${shownAs} has another process with this id; choose one with --id`,
    );
  const config = await appendToFile(added, file, `: ${cmd}`, printRemark);
  if (config === undefined) return undefined;
  const removeTraces = removerOf(config);
  const written = await fs.readFile(file, "utf8");
  return async () => {
    await takeBack(addition, written, before);
    if (isRunning(file)) await (await connect({ config: file })).reload({ waitSeconds: UNDO_SECONDS });
    removeTraces();
  };
}

/** Takes the process out of the file. What the user has changed meanwhile stays. `before`: absent, if the file is new. */
async function takeBack({ file, id }: Addition, written: string, before: string | undefined): Promise<void> {
  const now = await fs.readFile(file, "utf8");
  if (now !== written) return processIn(now, id) === undefined ? undefined : replaceFile(file, removeProcess(now, id));
  return before === undefined ? fs.rm(file) : replaceFile(file, before);
}

/** What removes that which procman is about to create for this configuration: state folder, log files and their folders. */
function removerOf({ stateDir, processes }: Config): () => void {
  const own = absentFrom(stateDir).at(-1);
  const logs = processes.flatMap(({ log }) => [log.stdout, log.stderr].filter((path) => path !== undefined));
  const absent = logs.map(absentFrom);
  return () => {
    if (own !== undefined) rmSync(own, { recursive: true, force: true });
    for (const [file, ...folders] of absent) {
      if (file !== undefined) rmSync(file, { force: true });
      for (const folder of folders) if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
    }
  };
}

/** The path, and the folders above it that don't exist either. */
function absentFrom(path: string): readonly string[] {
  return existsSync(path) ? [] : [path, ...absentFrom(dirname(path))];
}

/** Whether the process is up. Others may have failed, and the exit code says so. */
async function startInRunning({ id, file }: Addition): Promise<boolean> {
  const plan = await reload({ config: file, wait: true, showsPlan: false });
  const own = new Set(check(read(file, dirname(file))).processes.flatMap((spec) => (isNamed(id, spec) ? spec.id : [])));
  const isOwn = ({ process: member }: PlannedChange): boolean => own.has(member);
  const others = { ...plan, processes: plan.processes.filter((change) => !isOwn(change)) };
  if (hasChanges(others) && !isJson()) printPlan(others);
  if (plan.processes.some((change) => isOwn(change) && change.problem !== undefined)) return false;
  const records = await (await connect({ config: file })).processes();
  if (!isJson()) process.stdout.write(`${statusTable(records, process.stdout)}\n`);
  return true;
}

/** What a user of pm2 expects to be so. */
function printHints({ id }: Addition, { restart, stdout, cron, watch }: Options): void {
  const restarts =
    restart === undefined && cron === undefined && watch === undefined
      ? ['It is restarted after an error; with "restart": "always" in the file (or --restart always) after every end.']
      : [];
  const output =
    stdout === undefined
      ? [`"procman logs ${id}" shows its output; --stdout logs/{id}.log writes it to a file, too.`]
      : [];
  process.stdout.write([...restarts, ...output].map((line) => `${line}\n`).join(""));
}
