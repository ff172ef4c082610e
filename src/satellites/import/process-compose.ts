/** Processes of process-compose. */
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { type ConfigurationDraft, idOf, type ProcessDraft } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, scalarNumber, scalarText } from "./foreign-fields.ts";
import { interpolated, pathText } from "./foreign-text.ts";
import { bashLine } from "./shell-words.ts";
import { variablesOf } from "./variable-lists.ts";

/** A process, while that of procman is made. */
type ForeignProcess = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly folder: string;
  /** Text of the file with its variables. */
  readonly text: (value: string) => string;
};

export function importProcessCompose(
  data: Readonly<Record<string, unknown>>,
  origin: { readonly file: string; readonly shownAs: string },
  configuration: ConfigurationDraft,
): void {
  const folder = dirname(origin.file);
  const top = new ForeignFields(data, (field, advice) => configuration.note(field, advice));
  const processes = top.object("processes") ?? {};
  const variables = top.object("vars") ?? {};
  const global = variablesOf(top.any("environment"), (field, advice) => configuration.note(field, advice));
  if (Object.keys(global).length > 0) configuration.merge("env", global);
  if (existsSync(join(folder, ".env")))
    configuration.fields.envFile = { path: configuration.path(folder, ".env"), optional: true };
  const log = top.text("log_location");
  if (log !== undefined) configuration.merge("logger", { stdout: configuration.path(folder, log) });
  top.rest(TOP_ADVICE, "process-compose");
  const drafts = Object.keys(processes).map((name) => configuration.add(name, origin.shownAs));
  const ids = new Map(drafts.map((draft) => [draft.name, draft.id]));
  for (const draft of drafts) {
    const given = processes[draft.name];
    if (!isObject(given)) {
      configuration.drop(draft, draft.name, "is not an object, so there is nothing to run");
      continue;
    }
    const fields = new ForeignFields(given, (field, advice) => draft.note(field, advice));
    const own = { ...variables, ...fields.object("vars") };
    fillProcess({ draft, fields, configuration, folder, text: (value) => templated(value, own, draft) }, ids);
  }
}

/** `{{.NAME}}` of Go's templates, where the variable has a plain value. */
function templated(text: string, variables: Readonly<Record<string, unknown>>, draft: ProcessDraft): string {
  const whole = text.replace(/\{\{\s*\.(\w+)\s*\}\}/g, (written, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (name === "PC_REPLICA_NUM") return "${PROCMAN_CLUSTER_INSTANCE}";
    return scalarText(value) || written;
  });
  const [left] = /\{\{(?:(?!\{\{|\}\}).)*\}\}/.exec(whole) ?? [];
  if (left !== undefined) draft.note("vars", `${left} is a template, which procman has not: write what it stands for`);
  return whole;
}

function fillProcess(process: ForeignProcess, ids: ReadonlyMap<string, string>): void {
  const { draft, fields, configuration, folder, text } = process;
  const command = fields.command("command");
  const entrypoint = fields.texts("entrypoint");
  const cwd = resolve(folder, pathText(interpolated(text(fields.text("working_dir") ?? ""), () => undefined)));
  const place = configuration.path(cwd, ".");
  if (command !== undefined) draft.set("cmd", bashLine(text(command)));
  else if (entrypoint !== undefined) draft.set("cmd", entrypoint.map((word) => shellQuote(text(word))).join(" "));
  draft.set("cwd", place === "." ? undefined : place);
  draft.set("autostart", fields.flag("disabled") === true ? undefined : true);
  const env = variablesOf(fields.any("environment"), (field, advice) => draft.note(field, advice), text);
  if (Object.keys(env).length > 0) draft.set("env", env);
  const envFile = fields.text("env_file");
  if (envFile !== undefined) draft.set("envFile", configuration.path(folder, envFile));
  availability(process);
  shutdown(process);
  dependencies(process, ids);
  readiness(process);
  healthChecks(process);
  schedule(process);
  others(process);
  fields.rest(PROCESS_ADVICE, "process-compose");
  if (command === undefined && entrypoint === undefined)
    configuration.drop(draft, "command", "is missing, so there is nothing to run");
}

const RESTARTS: Readonly<Record<string, string>> = {
  always: "always",
  on_failure: "error",
  exit_on_failure: "error",
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
  const delay = own.number("backoff_seconds");
  if (delay !== undefined) draft.set("restartDelayMs", delay * 1_000);
  const limit = own.number("max_restarts");
  if (limit !== undefined && limit > 0) draft.set("restartLimit", limit);
  own.rest({}, "process-compose");
  const codes = [fields.any("success_exit_codes") ?? []]
    .flat()
    .map(scalarNumber)
    .filter((code) => Number.isInteger(code) && code !== 0);
  if (codes.length > 0) draft.set("successExitCodes", codes);
}

function shutdown({ draft, fields, text }: ForeignProcess): void {
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
      `procman stops by a signal; a command after the end is "hooks": { "afterStop": ${JSON.stringify(text(command))} }`,
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

function dependencies({ draft, fields }: ForeignProcess, ids: ReadonlyMap<string, string>): void {
  const given = fields.object("depends_on");
  if (given === undefined) return;
  const list: object[] = [];
  for (const [name, settings] of Object.entries(given)) {
    const id = ids.get(name);
    const condition = isObject(settings) ? scalarText(settings.condition ?? "process_started") : "process_started";
    if (id === undefined) draft.note(`depends_on.${name}`, "there is no such process in the file");
    else if (ownMember(CONDITIONS, condition) === undefined)
      draft.note(`depends_on.${name}`, `has the unknown condition ${JSON.stringify(condition)}`);
    else list.push({ id, condition: ownMember(CONDITIONS, condition) });
  }
  if (list.length > 0) draft.set("dependsOn", list);
}

function schedule({ draft, fields }: ForeignProcess): void {
  const given = fields.object("schedule");
  if (given === undefined) return;
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "schedule.");
  draft.set("cron", own.text("cron")).set("timeZone", own.text("timezone"));
  if ((own.number("max_concurrent") ?? 1) > 1) draft.set("overrun", true);
  if (own.flag("run_on_start") !== true) delete draft.fields.autostart;
  own.rest({ interval: 'a time between two runs is a pattern here, such as "cron": "*/5 * * * *"' }, "process-compose");
}

function others({ draft, fields, configuration, folder, text }: ForeignProcess): void {
  const log = fields.text("log_location");
  if (log !== undefined) draft.merge("logger", { stdout: configuration.path(folder, text(log)) });
  const namespace = fields.text("namespace");
  if (namespace !== undefined && namespace !== "default") draft.set("groups", [idOf(namespace)]);
  const replicas = fields.number("replicas");
  if (replicas !== undefined && replicas > 1)
    draft.set("cluster", { instances: replicas }).merge("env", { PC_REPLICA_NUM: "${PROCMAN_CLUSTER_INSTANCE}" });
  const watch = fields.any("watch");
  const paths = [isObject(watch) ? (watch.paths ?? []) : (watch ?? [])]
    .flat()
    .filter((path) => typeof path === "string");
  if (paths.length > 0)
    draft.set(
      "watch",
      paths.map((path) => configuration.path(folder, path)),
    );
}

/** What a probe asks, as procman writes it; undefined if it asks nothing. */
function askedBy(own: ForeignFields, { draft, text }: ForeignProcess, name: string): object | undefined {
  const exec = own.object("exec")?.command;
  if (typeof exec === "string") return { exec: text(exec) };
  const http = own.object("http_get");
  if (http === undefined) return void draft.note(name, "has neither exec.command nor http_get, so it is left out");
  const { host = "127.0.0.1", scheme = "http", path = "/", port } = http;
  if (scalarText(scheme).toLowerCase() === "https")
    draft.note(`${name}.http_get`, 'https isn\'t asked: procman asks by http, or write a command as "exec"');
  const url = `http://${text(scalarText(host))}${port === undefined ? "" : `:${text(scalarText(port))}`}${text(scalarText(path))}`;
  return { http: url };
}

function probeIn(
  process: ForeignProcess,
  name: string,
): { readonly own: ForeignFields; readonly asked: object } | undefined {
  const given = process.fields.object(name);
  if (given === undefined) return undefined;
  const own = new ForeignFields(given, (field, advice) => process.draft.note(field, advice), `${name}.`);
  const asked = askedBy(own, process, name);
  return asked === undefined ? undefined : { own, asked };
}

function readiness(process: ForeignProcess): void {
  const line = process.fields.text("ready_log_line");
  if (line !== undefined) process.draft.set("ready", { log: process.text(line) });
  const probe = probeIn(process, "readiness_probe");
  if (probe === undefined) return;
  const { own, asked } = probe;
  const delay = own.number("initial_delay_seconds") ?? 0;
  const period = own.number("period_seconds") ?? 10;
  const failures = own.number("failure_threshold") ?? 3;
  process.draft.set("ready", { ...asked, timeout: Math.max(1, delay + period * failures) });
  own.skip("timeout_seconds", "success_threshold");
  own.rest({}, "process-compose");
}

function healthChecks(process: ForeignProcess): void {
  const probe = probeIn(process, "liveness_probe");
  if (probe === undefined) return;
  const { own, asked } = probe;
  const delay = own.number("initial_delay_seconds");
  process.draft.set("health", {
    ...asked,
    interval: own.number("period_seconds") ?? 10,
    timeout: own.number("timeout_seconds") ?? 1,
    failures: own.number("failure_threshold") ?? 3,
    ...(delay !== undefined && { startPeriod: delay }),
  });
  own.skip("success_threshold");
  own.rest({}, "process-compose");
}

const LOGGER = 'files, rotation and format are in "logger": docs/guide/logs.md';
const TERMINAL = "programs have no terminal; `procman monitor` shows their output";

/** What to do about fields of a process without an equal. */
const PROCESS_ADVICE: AdviceTable = {
  description: "",
  is_daemon: "keep the program in the foreground; what it leaves behind is supervised and ended nevertheless",
  launch_timeout_seconds: 'how long a start may take is "timeout" of "ready"',
  is_foreground: TERMINAL,
  is_interactive: TERMINAL,
  is_tty: TERMINAL,
  is_elevated: 'run procman as root, and give the others a "user"',
  log_configuration: LOGGER,
  disable_ansi_colors: "`procman logs` leaves colours out where they aren't wanted",
  disable_env_expansion: "",
  disable_dotenv: "",
  is_dotenv_disabled: "",
  is_template_disabled: "",
  extends: "procman has no inheritance between processes: write its fields here",
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
