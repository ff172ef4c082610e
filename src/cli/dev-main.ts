/** Entry of `procman dev`, in its own bundle: it needs no other command, and starts procman as soon as it can. */
import { once } from "node:events";
import { Command } from "commander";
import { livingHolder } from "../client/connection/endpoint-file.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { parseDocument, withoutBom } from "../core/config/document.ts";
import { type Location, locate } from "../core/config/find-config.ts";
import { profileNames } from "../core/config/profile.ts";
import { wantsColors } from "../core/os/colors.ts";
import { isSameFile } from "../core/os/file-identity.ts";
import { NO_DEBUGGER } from "../core/os/no-debugger.ts";
import { startFolder } from "../core/os/start-folder.ts";
import type { DevChoice } from "../satellites/dev/choice.ts";
import type { DevSessionOptions } from "../satellites/dev/dev-session.ts";
import type { DevKeeper } from "../satellites/dev/keeper-process.ts";
import { type DevOptions, defineDev, withExcept } from "./commands/dev-command.ts";
import { configurationOf, importForDev } from "./import-bundle.ts";
import { endWith, runArguments } from "./one-command.ts";

const PROFILE = "dev";

const program = new Command("procman");
defineDev(program, dev);
endWith(runArguments(program, withExcept(process.argv.slice(2))));

/** What is run. */
type DevSource = {
  /** Configuration of procman. */
  readonly file: string;
  readonly profile: string | undefined;
  /** Ids of all processes, for the width in front of the lines. */
  readonly ids: () => Promise<readonly string[]>;
  readonly title: string;
  readonly remarks: readonly string[];
} & Pick<DevSessionOptions, "sources">;

async function dev(ids: readonly string[], options: DevOptions): Promise<void> {
  const cwd = startFolder(options.file ?? options.config);
  const { chosen } = await import("../satellites/dev/choice.ts");
  const choice = chosen(options, cwd);
  if (options.init === true) return writeFile(choice);
  const source =
    "source" in choice ? ofConfiguration(choice, options) : await ofForeign(choice, cwd, { ...options, named: ids });
  const place = locate(source.file, cwd);
  const isRunning = runsAlready(place, source);
  if (isRunning) checkShown(place, options);
  const { watched, text }: WatchedProcesses =
    options.watch === true && !isRunning ? await watchedOf(source) : { watched: [], text: "" };
  const keeper = isRunning ? undefined : await startedKeeper(source, ids, { ...options, watched });
  // The rest is loaded while procman comes up.
  const { runSession } = await import("../satellites/dev/dev-session.ts");
  const code = await runSession({
    place,
    title: keeper === undefined ? titleBeside(place, options) : `${source.title}${text}`,
    titleBeside: options.exitWith === undefined ? titleBeside(place, options) : undefined,
    remarks: keeper === undefined ? [] : source.remarks,
    named: { ids, except: options.except ?? [] },
    ids: await source.ids(),
    keeper,
    ...(source.sources && keeper !== undefined && { sources: source.sources }),
    monitor: () => monitor(source.file),
  });
  // Requests may still be under way.
  process.exit(code);
}

/** @throws {ProcmanError} `already-running`: its end was decided at its start */
function checkShown({ name }: Location, { exitWith }: DevOptions): void {
  if (exitWith === undefined) return;
  throw new ProcmanError(
    "already-running",
    `Cannot exit with process "${exitWith}": ${name} is already running; "procman terminate" ends it`,
  );
}

function titleBeside({ name }: Location, { watch = false, profile }: DevOptions): string {
  const without = [watch ? "--watch" : "", profile === undefined ? "" : "--profile"].filter(Boolean).join(" and ");
  const left = without === "" ? "" : `; it runs as it was started, without ${without}`;
  return `${name} is already running: these are its lines${left}; Ctrl-C leaves it running, "procman terminate" ends it`;
}

async function startedKeeper(
  { file, profile }: DevSource,
  ids: readonly string[],
  { except = [], exitWith, watched }: Pick<DevOptions, "except" | "exitWith"> & Pick<WatchedProcesses, "watched">,
): Promise<DevKeeper> {
  const { startKeeper } = await import("../satellites/dev/keeper-process.ts");
  return startKeeper([
    `--config=${file}`,
    `--front=${wantsColors(process.stdout) ? "terminal" : "plain"}`,
    ...(profile === undefined ? [] : [`--profile=${profile}`]),
    ...except.map((id) => `--except=${id}`),
    ...watched.map((id) => `--watch=${id}`),
    ...(exitWith === undefined ? [] : [`--exit-with=${exitWith}`]),
    ...ids,
  ]);
}

/** With the profile `dev`, if the file has one. */
function ofConfiguration(
  { source, shownAs, why }: Extract<DevChoice, { readonly source: unknown }>,
  options: DevOptions,
): DevSource {
  const { file, text } = source;
  const document = parseDocument(withoutBom(text));
  const profile = options.profile ?? (profileNames(document).includes(PROFILE) ? PROFILE : undefined);
  const none = document.syntax.length > 0 ? "" : `, which has no profile "${PROFILE}"`;
  const which = profile === undefined ? none : ` with its profile "${profile}"`;
  return {
    file,
    profile,
    ids: async () => (await import("./completion-candidates.ts")).printedIdsInFile(file),
    title: `runs ${shownAs}${which}${why === "" ? "" : `, ${why}`}`,
    remarks: [],
  };
}

async function ofForeign(
  { path, isRefused, shownAs, why }: Extract<DevChoice, { readonly path: string }>,
  cwd: string,
  { profile, named, except = [] }: DevOptions & { readonly named: readonly string[] },
): Promise<DevSource> {
  const make = (): ReturnType<typeof configurationOf> => configurationOf(path, { cwd, isRefused });
  const { file, ids, left, renamed, sources } = await make();
  const chosen = (named.length > 0 ? [...new Set(named)] : ids).filter((id) => !except.includes(id));
  // What can't be run is an error that follows.
  const isRunnable = chosen.length > 0 && [...named, ...except].every((id) => ids.includes(id));
  const shown = isRunnable ? ` (${chosen.join(", ")})` : "";
  const without = left.length === 0 ? "" : `; without ${left.join(", ")}: "procman import ${shownAs} --check" says why`;
  return {
    file,
    profile,
    ids: () => Promise.resolve(ids),
    title: `runs ${shownAs}${shown}: ${why}${without}`,
    remarks: renamed,
    sources: { files: sources, renew: async () => (await make()).sources },
  };
}

/** @throws {ProcmanError} `already-running`: another file of the same folder */
function runsAlready({ name, stateDir }: Location, { file }: DevSource): boolean {
  const holder = livingHolder(stateDir);
  if (holder === undefined) return false;
  if (holder.file === undefined || isSameFile(holder.file, file)) return true;
  throw new ProcmanError(
    "already-running",
    `Cannot run: procman runs ${holder.file} as "${name}" here (pid ${holder.pid}); end that one first, or set PROCMAN_STATE_DIR to run both`,
  );
}

/** `--watch`: the processes that are restarted on changes, and how the first line says it. */
async function watchedOf({ file, profile }: DevSource): Promise<WatchedProcesses> {
  const [{ reloadPlan }, { read }, { check }] = await Promise.all([
    import("../satellites/dev/reloaders.ts"),
    import("../core/config/config-file.ts"),
    import("../core/config/load.ts"),
  ]);
  const { processes } = check(read(file, startFolder(file)), profile === undefined ? {} : { profile });
  const { watched, own } = reloadPlan(processes);
  const words = [
    ...(watched.length === 0 ? [] : [`restarted on changes: ${watched.join(", ")}`]),
    ...(own.length === 0
      ? []
      : [`${watched.length === 0 ? "restart on changes " : ""}by themselves: ${own.join(", ")}`]),
  ];
  return { watched, text: words.length === 0 ? "" : `; ${words.join("; ")}` };
}

type WatchedProcesses = { readonly watched: readonly string[]; readonly text: string };

/** `--init`. */
async function writeFile(choice: DevChoice): Promise<void> {
  if ("source" in choice)
    throw new ProcmanError("file-exists", `Cannot write a configuration: ${choice.shownAs} is one already`);
  await importForDev(choice.path);
}

/** In this terminal, until the user leaves it. */
async function monitor(file: string): Promise<void> {
  const { spawn } = process.getBuiltinModule("node:child_process");
  const [, script = ""] = process.argv;
  const child = spawn(process.execPath, [NO_DEBUGGER, script, "monitor", "--config", file], { stdio: "inherit" });
  await once(child, "exit");
}
