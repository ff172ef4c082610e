/** Writes what an init system needs to start a procman, enables and starts it; and takes it away again. */
import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { dirname } from "node:path";
import { isNotFound, ProcmanError } from "../../core/base/errors.ts";
import { writeWhole } from "../../core/os/careful-files.ts";
import { type BootFile, type BootLink, type BootPlan, type BootStep, MARK, shellWord } from "./boot-plan.ts";
import { type BootRecord, launcherPath } from "./boot-record.ts";
import { withCronLine } from "./cron-job.ts";
import { planOf } from "./init-systems.ts";
import { launcherText } from "./launcher.ts";

/** Programs of init systems lie there, whatever the user's PATH says. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Direction = "install" | "uninstall";

/** @throws {ProcmanError} `boot-refused`: a file isn't procman's, can't be written, or a command has failed */
export function install(record: BootRecord, starts: boolean): BootPlan {
  const plan = planOf(record);
  const files = allFiles(record, plan);
  for (const { path } of files) refuseForeign("install", path);
  for (const link of plan.links ?? []) refuseForeignLink(link);
  const before = files.filter(({ path }) => !existsSync(path));
  try {
    for (const file of files) write(file);
    for (const { path, target } of plan.links ?? [])
      if (!isThere(path)) attempt("install", path, () => symlinkSync(target, path));
    changeCrontab(plan, "install");
    for (const step of plan.enable) run("install", step);
  } catch (error) {
    // Half of it would be worse than none.
    for (const { path } of before) rmSync(path, { force: true });
    throw error;
  }
  if (starts) start(record, plan);
  return plan;
}

function start({ name }: BootRecord, plan: BootPlan): void {
  try {
    for (const step of plan.start) run("install", step, plan);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    const left = `${plan.unit} is there and starts ${name} at the next boot; "procman uninstall" removes it`;
    throw new ProcmanError("boot-refused", `${error.message}\n${left}`, { cause: error });
  }
}

/** Stops procman with all its processes in order. `problems`: commands that have failed; what they have left stays. @throws {ProcmanError} `boot-refused` */
export function uninstall(record: BootRecord): { readonly unit: string; readonly problems: readonly string[] } {
  const plan = planOf(record);
  const { unit, files, links = [], folders = [], disable, forget = [] } = plan;
  const launcher = launcherPath(record.scope, record.name);
  for (const { path } of files) if (existsSync(path)) refuseForeign("uninstall", path);
  const problems = failuresOf(disable);
  changeCrontab(plan, "uninstall");
  for (const { path } of [...links, ...files]) remove(path);
  for (const path of folders) remove(path);
  problems.push(...failuresOf(forget));
  remove(launcher);
  return { unit, problems };
}

/** A procman that isn't running can't be stopped; the other steps still follow. */
function failuresOf(steps: readonly BootStep[]): string[] {
  return steps.flatMap((step) => {
    try {
      run("uninstall", step);
      return [];
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      return [error.message];
    }
  });
}

function remove(path: string): void {
  attempt("uninstall", path, () => rmSync(path, { recursive: true, force: true, maxRetries: 10 }));
}

/** What `install` would do, for people. */
export function shownPlan(record: BootRecord, starts: boolean): string {
  const plan = planOf(record);
  const files = allFiles(record, plan).map(
    ({ path, text, mode }) => `# ${path} (mode ${mode.toString(8).padStart(4, "0")})\n${text}\n`,
  );
  const links = (plan.links ?? []).map(({ path, target }) => `ln -s ${shellWord(target)} ${shellWord(path)}`);
  const crontab = plan.crontab === undefined ? [] : [`# added to the crontab of ${record.user}:\n#   ${plan.crontab}`];
  const steps = [...plan.enable, ...(starts ? plan.start : [])].map((step) => step.map(shellWord).join(" "));
  return `${files.join("\n")}\n# then\n${[...links, ...crontab, ...steps].join("\n")}\n`;
}

/** What `uninstall` would do. */
export function shownRemoval(record: BootRecord): string {
  const plan = planOf(record);
  const paths = [
    ...plan.files.map(({ path }) => path),
    ...(plan.folders ?? []),
    launcherPath(record.scope, record.name),
  ];
  const crontab =
    plan.crontab === undefined ? [] : [`# removed from the crontab of ${record.user}:\n#   ${plan.crontab}`];
  const removed = `rm -rf ${paths.map(shellWord).join(" ")}`;
  const [before, after] = [plan.disable, plan.forget ?? []].map((steps) =>
    steps.map((step) => step.map(shellWord).join(" ")),
  );
  return `${[...(before ?? []), ...crontab, removed, ...(after ?? [])].join("\n")}\n`;
}

/** The launcher comes first: what starts it is written when it is there. */
function allFiles(record: BootRecord, { files }: BootPlan): readonly BootFile[] {
  const launcher = { path: launcherPath(record.scope, record.name), text: launcherText(record), mode: 0o755 };
  return [launcher, ...files];
}

function refuseForeign(what: Direction, path: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined || (stat.isFile() && attempt(what, path, () => readFileSync(path, "utf8")).includes(MARK)))
    return;
  throw new ProcmanError(
    "boot-refused",
    `Cannot ${what}: ${path} exists, and "procman install" has not written it; move it away, or give the configuration another "name"`,
  );
}

function refuseForeignLink({ path, target }: BootLink): void {
  if (!isThere(path) || (lstatSync(path).isSymbolicLink() && readlinkSync(path) === target)) return;
  throw new ProcmanError(
    "boot-refused",
    `Cannot install: ${path} exists, and does not lead to ${target}; move it away`,
  );
}

function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function write({ path, text, mode }: BootFile): void {
  attempt("install", path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    writeWhole(path, text, { mode, isDurable: true });
  });
}

function attempt<T>(what: Direction, path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw new ProcmanError("boot-refused", `Cannot ${what}: ${path}: ${(cause as Error).message}`, { cause });
  }
}

function run(what: Direction, step: BootStep, { log }: Pick<BootPlan, "log"> = {}, input?: string): string {
  const [program = "", ...args] = step;
  const env = { ...process.env, ...userBus(), PATH: `${process.env.PATH ?? ""}:${SYSTEM_PATH}` };
  try {
    return execFileSync(program, args, {
      encoding: "utf8",
      stdio: ["pipe", "pipe", "pipe"],
      env,
      ...(input === undefined ? {} : { input }),
    });
  } catch (cause) {
    const { stderr = "", stdout = "" } = cause as { readonly stderr?: string; readonly stdout?: string };
    const reason = isNotFound(cause)
      ? `there is no program ${program}`
      : (stderr || stdout).trim() || (cause as Error).message;
    const lines = log === undefined ? "" : lastLines(log);
    throw new ProcmanError(
      "boot-refused",
      `Cannot ${what}: "${step.map(shellWord).join(" ")}" has failed: ${reason}${lines}`,
      { cause },
    );
  }
}

function lastLines(log: BootStep): string {
  try {
    return `\n${run("install", log).trimEnd().replaceAll(/^/gm, "  | ")}`;
  } catch {
    // The reason alone must do.
    return "";
  }
}

/** `su` and cron don't say where the user's systemd listens. */
function userBus(): NodeJS.ProcessEnv {
  const folder = `/run/user/${process.getuid?.()}`;
  return process.env.XDG_RUNTIME_DIR !== undefined || !existsSync(folder) ? {} : { XDG_RUNTIME_DIR: folder };
}

function changeCrontab({ crontab: line }: BootPlan, what: Direction): void {
  if (line === undefined) return;
  const before = crontabNow();
  const after = withCronLine(before, line, what === "install");
  if (after !== before) run(what, ["crontab", "-"], {}, after);
}

/** An absent one is an error of `crontab -l`, as any other; so its message counts. */
function crontabNow(): string {
  try {
    return run("install", ["crontab", "-l"]);
  } catch (error) {
    if (error instanceof ProcmanError && /no crontab for/i.test(error.message)) return "";
    throw error;
  }
}
