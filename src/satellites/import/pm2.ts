/** Apps of pm2: an ecosystem file, a dump, or the list of a running pm2. */
import { resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { didYouMean } from "../../core/base/suggest.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { type ConfigurationDraft, idOf, type ProcessDraft, programName } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, type TakeNote } from "./foreign-fields.ts";
import { envValue, pathText } from "./foreign-text.ts";
import { appCommand } from "./pm2-command.ts";

/** An app, while its process is made. */
type Pm2App = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  /** Folder from which its paths resolve. */
  readonly cwd: string;
  readonly isNode: boolean;
};

/** `data`: what the file exports. `folder`: where pm2 was called, by default the folder of the file. */
export function importPm2(
  data: unknown,
  origin: { readonly file: string; readonly folder: string },
  configuration: ConfigurationDraft,
): void {
  const { apps, others } = appsIn(data);
  for (const [index, app] of apps.entries())
    if (isObject(app)) importApp(app, origin, configuration);
    else configuration.note(`apps[${index}]`, `is not an object, so it is left out of the import of ${origin.file}`);
  for (const name of Object.keys(others)) configuration.note(name, ownMember(TOP_ADVICE, name) ?? unknownTop(name));
}

const TOP_ADVICE: Readonly<Record<string, string>> = {
  deploy: "procman deploys nothing: let your CI copy the files and call `procman reload`",
  static: "procman serves no files: add a process that does, as `npx serve dist`",
  include: "is not a field of pm2",
};

function unknownTop(name: string): string {
  return `is not a field of pm2.${didYouMean(name, ["apps", "deploy", "static"])}`;
}

function appsIn(data: unknown): {
  readonly apps: readonly unknown[];
  readonly others: Readonly<Record<string, unknown>>;
} {
  if (!isObject(data)) return { apps: [data].flat(), others: {} };
  const { apps, pm2, ...others } = data;
  const listed = apps ?? pm2;
  return listed === undefined || listed === null ? { apps: [data], others: {} } : { apps: [listed].flat(), others };
}

function importApp(
  record: Readonly<Record<string, unknown>>,
  origin: { readonly file: string; readonly folder: string },
  configuration: ConfigurationDraft,
): void {
  const notes: [string, string][] = [];
  const fields = new ForeignFields(record, (field, advice) => notes.push([field, advice]));
  const script = fields.command("script", "exec", "cmd", "command");
  const name = fields.text("name") ?? programName(script?.split(/\s/)[0] ?? "") ?? "app";
  const draft = configuration.add(name || "app", origin.file);
  const cwd = resolve(origin.folder, fields.text("cwd") ?? "");
  if (script !== undefined) fillApp({ draft, fields, configuration, cwd }, script);
  for (const [field, advice] of notes) draft.note(field, advice);
  if (script === undefined) configuration.drop(draft, "script", "is missing, so there is nothing to run");
}

function fillApp(app: Omit<Pm2App, "isNode">, script: string): void {
  const { draft, fields, configuration, cwd } = app;
  const command = appCommand(fields, script, cwd);
  const whole: Pm2App = { ...app, isNode: command.isNode };
  const place = configuration.path(cwd, ".");
  draft.set("cmd", command.line);
  if (place !== ".") draft.set("cwd", pathText([place]));
  draft.set("autostart", fields.flag("autostart") ?? true).set("stdin", true);
  environment(whole, command.env);
  restarts(whole);
  schedules(whole);
  readiness(whole);
  clusters(whole);
  watching(whole);
  files(whole);
  identity(whole);
  fields.rest(APP_ADVICE, "pm2");
}

function environment({ draft, fields, configuration }: Pm2App, more: Readonly<Record<string, string>>): void {
  const port = fields.number("port");
  const env = {
    ...more,
    ...envOf(fields.any("env"), (name, advice) => draft.note(name, advice)),
    ...(port !== undefined && { PORT: port }),
  };
  if (Object.keys(env).length > 0) draft.set("env", env);
  const files = fields.texts("env_file");
  if (files !== undefined) draft.set("envFile", files.length === 1 ? files[0] : files);
  for (const key of fields.names()) {
    const profile = /^env_(\S+)$/.exec(key)?.[1];
    if (profile === undefined || key === "env_file") continue;
    const variables = envOf(fields.any(key), (name, advice) => draft.note(name, advice));
    configuration.addToProfile(idOf(profile), draft, { env: variables });
  }
  const filter = fields.any("filter_env");
  if (filter === true) draft.set("inheritEnv", false);
  else if (filter !== undefined && filter !== false)
    draft.note("filter_env", 'procman names what is inherited instead: "inheritEnv": ["HOME", "AWS_*"]');
}

function restarts({ draft, fields }: Pm2App): void {
  const codes = fields.texts("stop_exit_codes")?.map(Number).filter(Number.isInteger);
  const isRestarted = fields.flag("autorestart") ?? true;
  draft.set("restart", !isRestarted ? "never" : codes === undefined ? "always" : "error");
  const others = codes?.filter((code) => code !== 0) ?? [];
  if (others.length > 0) draft.set("successExitCodes", others);
  if (codes !== undefined && !codes.includes(0))
    draft.note(
      "stop_exit_codes",
      '0 is not among them, but procman doesn\'t restart after exit code 0 either, unless "restart" is "always"',
    );
  draft.set("restartLimit", fields.number("max_restarts"));
  const uptime = millisecondsOf(fields.text("min_uptime"));
  draft.set("minUptimeMs", uptime).set("restartResetMs", uptime);
  draft.set("restartDelayMs", positive(fields.number("restart_delay")));
  if (positive(fields.number("exp_backoff_restart_delay")) !== undefined)
    draft.note(
      "exp_backoff_restart_delay",
      'is what procman does without "restartDelayMs": at once, then after 100 ms, growing to 30 s',
    );
  draft.set("memoryLimit", sizeOf(fields.text("max_memory_restart")));
  draft.set("stopSignal", "SIGINT");
  draft.set("terminateTimeout", seconds(fields.number("kill_timeout")));
  if (fields.flag("treekill") === false) draft.set("killMode", "leader");
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** `cron_restart` without `autorestart` is a job. */
function schedules({ draft, fields }: Pm2App): void {
  const pattern = fields.text("cron_restart", "cron");
  if (pattern === undefined || pattern === "0") return;
  if (draft.fields.restart !== "never") return void draft.set("terminate", pattern);
  draft.set("cron", pattern);
  delete draft.fields.restart;
  delete draft.fields.autostart;
  draft.note(
    "cron_restart",
    `pm2 also starts it at once; here it starts at these times only, and by \`procman start ${draft.id}\``,
  );
}

/** Time for the message "ready". pm2 goes on without it. */
const READY_SECONDS = 30;
const PM2_READY_SECONDS = 3;

function readiness({ draft, fields, isNode }: Pm2App): void {
  const waits = fields.flag("wait_ready") === true;
  const timeout = seconds(fields.number("listen_timeout"));
  if (waits && isNode) {
    const patience = Math.max(READY_SECONDS, timeout ?? PM2_READY_SECONDS);
    draft.set("node", true).set("ready", { message: true, timeout: patience });
    draft.note(
      "listen_timeout",
      `without the message, pm2 counts it as started after ${timeout ?? PM2_READY_SECONDS} s; procman stops it after "timeout" of "ready", here ${patience} s`,
    );
  } else if (waits)
    draft.note(
      "wait_ready",
      'only a Node program can send the message "ready"; see "ready" in docs/guide/supervision.md for a port, an address or a line of output',
    );
  else if (timeout !== undefined) draft.note("listen_timeout", 'is "timeout" of "ready": docs/guide/supervision.md');
  if (fields.flag("shutdown_with_message") !== true) return;
  if (!isNode)
    return void draft.note("shutdown_with_message", "only a Node program gets messages; it is stopped by a signal");
  draft.set("node", true).set("terminateGracePeriod", draft.fields.terminateTimeout ?? 1.6);
  delete draft.fields.stopSignal;
}

function watching({ draft, fields, configuration, cwd }: Pm2App): void {
  const watch = fields.any("watch");
  const delay = fields.number("watch_delay");
  const ignored = fields.texts("ignore_watch");
  if (watch === undefined || watch === false) return;
  const paths = watch === true ? ["."] : [watch].flat().filter((path) => typeof path === "string");
  draft.set(
    "watch",
    paths.map((path) => configuration.path(cwd, path)),
  );
  configuration.merge("watcher", { exts: [], ...(delay !== undefined && { interval: delay }) });
  if (ignored === undefined)
    return void configuration.merge("watcher", { skip: ["**/.git/**", "**/node_modules/**", "**/.procman/**"] });
  const plain = ignored
    .filter((pattern) => /^[\w./*-]+$/.test(pattern))
    .map((pattern) => withoutEnd(pattern.replace(/^\.\//, ""), "/"));
  const { skip = ["**/.git/**", "**/.procman/**"] } = (configuration.fields.watcher ?? {}) as {
    readonly skip?: readonly string[];
  };
  const patterns = plain.flatMap((pattern) =>
    pattern.includes("*") ? [pattern] : [`**/${pattern}`, `**/${pattern}/**`],
  );
  configuration.merge("watcher", { skip: [...new Set([...skip, ...patterns])] });
  const left = ignored.filter((pattern) => !/^[\w./*-]+$/.test(pattern));
  if (left.length > 0)
    draft.note("ignore_watch", `${left.join(", ")}: write them as patterns, such as **/*.log, in "skip" of "watcher"`);
}

function files({ draft, fields, configuration, cwd }: Pm2App): void {
  const isCluster = draft.fields.cluster !== undefined;
  const isMerged = fields.flag("merge_logs", "combine_logs") === true || !isCluster;
  const numbered = (path: string): string => (isMerged ? path : path.replace(/(\.[^./]*)?$/, "-{instance}$1"));
  const path = (...names: readonly string[]): string | undefined => {
    const text = fields.text(...names);
    return text === undefined || text === "NULL" || text === "/dev/null"
      ? undefined
      : pathText([numbered(configuration.path(cwd, text))]);
  };
  const stdout = path("out_file", "out", "output", "out_log");
  const stderr = path("error_file", "error", "err", "err_file", "err_log");
  const both = fields.any("log_file", "log");
  const common = typeof both === "string" ? path("log_file", "log") : undefined;
  draft.merge("logger", { stdout: stdout ?? common, stderr: stderr === (stdout ?? common) ? undefined : stderr });
  if (common !== undefined && stdout !== undefined)
    draft.note("log_file", "procman writes each stream to one file; `procman logs` shows both together");
  if (
    (fields.text("log_date_format") !== undefined || fields.flag("time") === true) &&
    draft.fields.logger !== undefined
  )
    draft.merge("logger", { decorateFiles: true });
  const pidFile = fields.text("pid_file", "pid");
  if (pidFile !== undefined)
    draft.set("pidFile", pathText([`${configuration.path(cwd, pidFile)}${isCluster ? ".{instance}" : ""}`]));
}

function identity({ draft, fields }: Pm2App): void {
  draft.set("user", fields.any("uid", "user"));
  draft.set("group", fields.any("gid"));
  const namespace = fields.text("namespace");
  if (namespace !== undefined && namespace !== "default") draft.set("groups", [idOf(namespace)]);
}

/** `instances`: a cluster. pm2's cluster mode lets the instances of a Node program share the port on which it listens. */
function clusters(app: Pm2App): void {
  const { draft, fields } = app;
  const given = fields.text("instances");
  const mode = fields.text("exec_mode") ?? (given !== undefined && app.isNode ? "cluster" : "fork");
  const variable = fields.text("instance_var") ?? "NODE_APP_INSTANCE";
  const increment = fields.text("increment_var");
  const instances = countOf(given);
  if (instances === undefined || instances === 1) {
    if (given !== undefined) draft.merge("env", { [variable]: 0 });
    if (increment !== undefined) draft.note("increment_var", "with one instance nothing is incremented");
    return;
  }
  if (Number(given) < 0) draft.note("instances", `${given} leaves processors free there; "max" is one for each`);
  draft.merge("env", { [variable]: "${PROCMAN_CLUSTER_INSTANCE}" }).set("cluster", { instances });
  if (increment !== undefined) draft.merge("cluster", counted(increment, draft));
  else if (mode.startsWith("cluster")) sharedPort(app);
}

function sharedPort({ draft }: Pm2App): void {
  const port = portIn((draft.fields.env as Readonly<Record<string, unknown>>).PORT);
  if (port === undefined) {
    draft.note(
      "exec_mode",
      'pm2 lets the instances share the port on which the program listens. If it listens: "node": true, and in "cluster" "mode": "share" and that port as "commonPort"',
    );
    return;
  }
  // As in pm2: the instances see the addresses of their clients.
  draft.set("node", true).merge("cluster", { mode: "share", commonPort: port, hostname: "0.0.0.0" });
}

function countOf(given: string | undefined): number | "max" | undefined {
  if (given === undefined) return undefined;
  const count = Number.parseInt(given, 10);
  return given === "max" || Number.isNaN(count) || count <= 0 ? "max" : count;
}

function portIn(value: unknown): number | undefined {
  const port = typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}

/** A variable that grows by one for each instance is what procman does with a port. */
function counted(name: string, draft: ProcessDraft): Readonly<Record<string, unknown>> {
  const { [name]: first, ...env } = (draft.fields.env ?? {}) as Readonly<Record<string, unknown>>;
  const port = portIn(first);
  if (port === undefined) {
    draft.note(
      "increment_var",
      `${name} is not a number from 1 to 65535: write it with {instance}, which counts from 1`,
    );
    return {};
  }
  draft.set("env", env);
  return { startPort: port, portVariable: name };
}

/** Milliseconds of `1000`, `10s`, `5m`, `1h`. */
function millisecondsOf(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * ({ s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? 1);
}

/** Converts milliseconds to seconds. */
function seconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1_000;
}

/** pm2 counts in powers of 1024. */
function sizeOf(text: string | undefined): string | number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([KMG])?B?$/i.exec(text?.trim() ?? "") ?? [];
  if (number === "") return text;
  return unit === "" ? Number(number) : `${number}${{ K: "KiB", M: "MiB", G: "GiB" }[unit.toUpperCase()]}`;
}

/** Variables as procman writes them. */
function envOf(given: unknown, note: TakeNote): Readonly<Record<string, string | number | boolean>> {
  if (!isObject(given)) return {};
  const variables: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "number" || typeof value === "boolean") variables[name] = value;
    else if (typeof value === "string") variables[name] = envValue([value]);
    else note(`env.${name}`, "is not a text; a variable is a text, a number, true or false");
    if (name === "PATH")
      note(
        "env.PATH",
        'replaces PATH in pm2; here its folders are appended to that of procman. Folders that must come first: "pathFirst"',
      );
  }
  return variables;
}

/** What to do about fields of an app without an equal; an empty text: nothing is needed. */
const APP_ADVICE: AdviceTable = {
  log_type: 'as JSON, and with the time: "format": "json" of the top level "logger", for the console',
  disable_logs:
    'without files the output is only in the stored log: "internalLogHours": 0 of the top level "logger" keeps none',
  install_url: "procman installs nothing",
  name_prefix: "procman has one name for each configuration, and groups: docs/guide/processes.md",
  watch_options: 'the top level "watcher" has what counts as a change: docs/guide/reload.md',
  vizion: "",
  force: "an id is unique; for several equal processes use a cluster: docs/guide/clusters.md",
  append_env_to_name: 'give each environment a configuration with a "name", or use profiles',
  post_update: "let your CI call these commands, then `procman reload`",
  trace: "metrics and traces: the plugin procman/otlp, docs/guide/plugins.md",
  disable_trace: "",
  v8: "",
  event_loop_inspector: "",
  deep_monitoring: "metrics: docs/reference/metrics.md",
  pmx: "",
  automation: "",
  io: "is for pm2.io; metrics are in docs/reference/metrics.md",
  source_map_support:
    'if stack traces must name the original source: "env": { "NODE_OPTIONS": "--enable-source-maps" }',
  disable_source_map_support: "",
  username: "",
  windowsHide: "",
  kill_retry_time: "",
  write: "",
  execute_command: "",
  filter_env: "",
  ignore_watch: "",
};
