/** Processes of process-compose. */
import { constants } from "node:os";
import { dirname, resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { MAX_MS } from "../../core/config/units.ts";
import { type ConfigurationDraft, idOf, type ProcessDraft } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, scalarNumber, scalarText } from "./foreign-fields.ts";
import type { ForeignProcess } from "./foreign-process.ts";
import { interpolated, pathText, shellWord } from "./foreign-text.ts";
import { importProbes } from "./process-compose-probes.ts";
import { importWatch } from "./process-compose-watch.ts";
import { bashLine } from "./shell-words.ts";
import { dotenvIn, setVariables, variablesOf, withVariables } from "./variable-lists.ts";

/** Variables in these are read when the program starts; process-compose fills in all others when it reads the file. */
const READ_LATER = new Set(["command", "entrypoint", "environment", "vars", "description"]);
/** Between two runs, unless the file says more. Milliseconds. */
const BACKOFF_MS = 1_000;

/** `readText`: reads a file beside it. */
export function importProcessCompose(
  data: Readonly<Record<string, unknown>>,
  origin: { readonly file: string; readonly shownAs: string },
  configuration: ConfigurationDraft,
  readText: (file: string) => string,
): void {
  const folder = dirname(origin.file);
  const top = new ForeignFields(data, (field, advice) => configuration.note(field, advice));
  const processes = top.object("processes") ?? {};
  const isPlain = top.flag("disable_env_expansion") === true;
  const variables = top.object("vars") ?? {};
  configuration.merge("logger", { console: true });
  const global = variablesOf(top.any("environment"), (field, advice) => configuration.note(field, advice));
  if (Object.keys(global).length > 0) configuration.merge("env", global);
  const dotenv = dotenvIn(folder, readText);
  if (dotenv !== undefined) configuration.fields.envFile = { path: configuration.path(folder, ".env"), optional: true };
  const log = top.text("log_location");
  if (log !== undefined) configuration.merge("logger", { stdout: configuration.path(folder, log) });
  top.rest(TOP_ADVICE, "process-compose");
  const drafts = Object.keys(processes).map((name) => configuration.add(name, origin.shownAs));
  const ids = new Map(drafts.flatMap((draft) => idsOf(draft, processes[draft.name])));
  for (const draft of drafts) {
    const given = processes[draft.name];
    if (!isObject(given)) {
      configuration.drop(draft, draft.name, "is not an object, so there is nothing to run");
      continue;
    }
    const note = (field: string, advice: string): unknown => draft.note(field, advice);
    const lookUp = (name: string): string | undefined => ownMember(dotenv ?? {}, name) ?? process.env[name];
    const fields = new ForeignFields(isPlain ? given : withVariables(given, { lookUp, kept: READ_LATER, note }), note);
    const own = { ...variables, ...fields.object("vars") };
    const hasTemplates = fields.flag("is_template_disabled") !== true;
    const text = (value: string): string => (hasTemplates ? templated(value, own, { draft, given }) : value);
    const shellText = (value: string): string => (isPlain ? text(value) : text(value).replaceAll("$$", () => "$"));
    fillProcess({ draft, fields, configuration, folder, text, shellText, ids, isPlain });
  }
}

/** The name of a process, and those of its replicas: `web-0`. */
function idsOf({ name, id }: ProcessDraft, given: unknown): readonly (readonly [string, string])[] {
  const replicas = isObject(given) ? Math.min(scalarNumber(given.replicas ?? 1), 1_024) : 1;
  const width = String(replicas).length;
  return [
    [name, id],
    ...(replicas > 1
      ? Array.from({ length: replicas }, (_, index) => [`${name}-${String(index).padStart(width, "0")}`, id] as const)
      : []),
  ];
}

/** `{{.NAME}}` of Go's templates, where the variable has a plain value. */
function templated(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  { draft, given }: { readonly draft: ProcessDraft; readonly given: Readonly<Record<string, unknown>> },
): string {
  const whole = text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (written, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (name === "PC_REPLICA_NUM") return scalarNumber(given.replicas) > 1 ? "${PROCMAN_CLUSTER_INSTANCE}" : "0";
    return scalarText(value) || written;
  });
  const [left] = /\{\{(?:(?!\{\{|\}\}).)*\}\}/.exec(whole) ?? [];
  if (left !== undefined)
    draft.note("vars", `${left} is a template, which procman doesn't have: write what it stands for`);
  return whole;
}

function fillProcess(process: ForeignProcess): void {
  const { draft, fields, configuration, folder, text } = process;
  const cwd = resolve(folder, pathText([text(fields.text("working_dir") ?? "")]));
  const place = configuration.path(cwd, ".");
  const line = commandOf(process);
  draft.set("cmd", line).set("cwd", place === "." ? undefined : place);
  const isManual = fields.flag("disabled", "is_disabled") === true || fields.flag("is_foreground") === true;
  draft.set("autostart", isManual ? undefined : true);
  if (fields.flag("is_tty") === true || fields.flag("is_interactive") === true) draft.set("tty", true);
  for (const [name, advice] of Object.entries(FLAG_ADVICE)) if (fields.flag(name) === true) draft.note(name, advice);
  environmentOf(process, line ?? "");
  const envFile = fields.text("env_file");
  if (envFile !== undefined) draft.set("envFile", configuration.path(cwd, envFile));
  availability(process);
  shutdown(process);
  dependencies(process);
  importProbes(process);
  schedule(process);
  others(process);
  importWatch(process, { cwd, isManual });
  fields.rest(PROCESS_ADVICE, "process-compose");
  if (line === undefined) configuration.drop(draft, "command", "is missing, so there is nothing to run");
}

function commandOf({ fields, text, shellText, isPlain }: ForeignProcess): string | undefined {
  const command = fields.command("command");
  if (command !== undefined) return bashLine(shellText(command));
  const word = (given: string): string =>
    isPlain ? shellQuote(text(given)) : shellWord(interpolated(text(given), () => undefined));
  return fields.texts("entrypoint")?.map(word).join(" ");
}

function environmentOf({ draft, fields, text, isPlain }: ForeignProcess, line: string): void {
  const given = fields.any("environment");
  setVariables(draft, given, isPlain ? (value) => text(value).replaceAll("$", () => "$$") : text);
  const used = line + JSON.stringify(given ?? "");
  if (used.includes("PC_PROC_NAME")) draft.merge("env", { PC_PROC_NAME: draft.name });
  if (used.includes("PC_REPLICA_NUM")) draft.merge("env", { PC_REPLICA_NUM: "0" });
}

const RESTARTS: Readonly<Record<string, string>> = {
  always: "always",
  on_failure: "error",
  exit_on_failure: "never",
  no: "never",
  false: "never",
};

function availability({ draft, fields }: ForeignProcess): void {
  const given = fields.object("availability") ?? {};
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "availability.");
  const restart = scalarText(own.any("restart") ?? "no");
  draft.set("restart", ownMember(RESTARTS, restart) ?? "never");
  if (ownMember(RESTARTS, restart) === undefined)
    draft.note("availability.restart", `is ${JSON.stringify(restart)}; it is taken for "no"`);
  if (restart === "exit_on_failure" || own.flag("exit_on_end", "exit_on_skipped") === true)
    draft.note(
      "availability",
      `procman goes on when it ends; \`procman run --exit-with ${draft.id}\` ends with it, and with its exit code`,
    );
  const delayMs = Math.max(BACKOFF_MS, (own.number("backoff_seconds") ?? 0) * 1_000);
  if (draft.fields.restart !== "never") draft.set("restartDelayMs", delayMs);
  const limit = own.number("max_restarts");
  // It counts all of them.
  if (limit !== undefined && limit > 0) draft.set("restartLimit", limit).set("restartResetMs", MAX_MS);
  own.rest({}, "process-compose");
  const codes = [fields.any("success_exit_codes") ?? []]
    .flat()
    .map(scalarNumber)
    .filter((code) => Number.isInteger(code) && code !== 0);
  if (codes.length > 0) draft.set("successExitCodes", codes);
}

function shutdown({ draft, fields, shellText }: ForeignProcess): void {
  const given = fields.object("shutdown");
  if (given === undefined) return;
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "shutdown.");
  const number = own.number("signal");
  const name = Object.entries(constants.signals).find(([, value]) => value === number)?.[0];
  if (name !== undefined && name !== "SIGTERM") draft.set("stopSignal", name);
  draft.set("terminateTimeout", own.number("timeout_seconds"));
  if (own.flag("parent_only") === true) draft.set("killMode", "leader");
  const command = own.text("command");
  if (command !== undefined)
    draft.note(
      "shutdown.command",
      `procman stops by a signal; a command after the end is "hooks": { "afterStop": ${JSON.stringify(shellText(command))} }`,
    );
  own.rest({ send_keys: 'procman stops by a signal: "stopSignal"' }, "process-compose");
}

const CONDITIONS: Readonly<Record<string, string>> = {
  process_started: "started",
  process_healthy: "ready",
  process_log_ready: "ready",
  process_completed: "completed",
  process_completed_successfully: "finished",
};

function dependencies({ draft, fields, ids }: ForeignProcess): void {
  const given = fields.object("depends_on");
  if (given === undefined) return;
  const list = new Map<string, object>();
  for (const [name, settings] of Object.entries(given)) {
    const id = ids.get(name);
    const condition = isObject(settings) ? scalarText(settings.condition ?? "process_started") : "process_started";
    if (id === undefined) draft.note(`depends_on.${name}`, "there is no such process in the file");
    else if (ownMember(CONDITIONS, condition) === undefined)
      draft.note(`depends_on.${name}`, `has the unknown condition ${JSON.stringify(condition)}`);
    else list.set(id, { id, condition: ownMember(CONDITIONS, condition) });
  }
  if (list.size > 0) draft.set("dependsOn", [...list.values()]);
}

function schedule({ draft, fields }: ForeignProcess): void {
  const given = fields.object("schedule");
  if (given === undefined) return;
  if (fields.flag("disabled", "is_disabled") === true)
    return void draft.note("schedule", 'is left out, because the process is disabled: as "cron" it would start it');
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "schedule.");
  draft.set("cron", own.text("cron")).set("timeZone", own.text("timezone"));
  if ((own.number("max_concurrent") ?? 1) > 1) draft.set("overrun", true);
  if (own.flag("run_on_start") !== true) delete draft.fields.autostart;
  own.rest({ interval: 'a time between two runs is a pattern here, such as "cron": "*/5 * * * *"' }, "process-compose");
}

function others({ draft, fields, configuration, folder, text }: ForeignProcess): void {
  const replicas = fields.number("replicas") ?? 1;
  const log = fields.text("log_location");
  if (log !== undefined) draft.merge("logger", { stdout: configuration.path(folder, logFile(text(log), replicas)) });
  const groups = (fields.texts("namespace") ?? []).filter((name) => name !== "default").map(idOf);
  if (groups.length > 0) draft.set("groups", [...new Set(groups)]);
  if (replicas > 1)
    draft.set("cluster", { instances: replicas }).merge("env", { PC_REPLICA_NUM: "${PROCMAN_CLUSTER_INSTANCE}" });
}

/** Each replica has a log file. */
function logFile(path: string, replicas: number): string {
  if (replicas <= 1) return path.replaceAll("{PC_REPLICA_NUM}", "0");
  return path.includes("{PC_REPLICA_NUM}") ? path.replaceAll("{PC_REPLICA_NUM}", "{instance}") : `${path}.{instance}`;
}

const LOGGER = 'files, rotation and format are in "logger": docs/guide/logs.md';

/** What to do about what is switched on and has no equal. */
const FLAG_ADVICE: AdviceTable = {
  is_foreground: "`procman monitor` shows its output; it is only started by hand, as there",
  is_daemon: "keep the program in the foreground; what it leaves behind is supervised and ended all the same",
  is_elevated: 'run procman as root, and give the others a "user"',
  is_dotenv_disabled: "all processes get the variables of the .env here",
};

/** What to do about fields of a process without an equal. */
const PROCESS_ADVICE: AdviceTable = {
  description: "",
  launch_timeout_seconds: 'how long a start may take is "timeout" of "ready"',
  log_configuration: LOGGER,
  disable_ansi_colors: "`procman logs` leaves colors out where they aren't wanted",
  disable_env_expansion: "",
  extends: 'write its fields here, or "extends" with the id of a process: docs/guide/processes.md',
  is_strict: "",
  mcp: "procman has a REST API: docs/reference/api.md",
};

/** What to do about fields of the top level without an equal. */
const TOP_ADVICE: AdviceTable = {
  version: "",
  name: "",
  is_strict: "",
  log_level: "",
  log_length: "",
  log_format: LOGGER,
  log_configuration: LOGGER,
  shell: "procman uses /bin/sh; lines that need bash are given to it",
  env_cmds: 'procman runs no command for a variable: let a "beforeStart" hook write an "envFile"',
  extends: "import that file, too",
  disable_env_expansion: "",
  is_tui_disabled: "",
  ordered_shutdown: "procman always stops dependents first",
};
