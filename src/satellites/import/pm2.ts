/** Apps of pm2: an ecosystem file, a dump, or the list of a running pm2. */
import { resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { didYouMean } from "../../core/base/suggest.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { type ConfigurationDraft, idOf, programName } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, scalarText } from "./foreign-fields.ts";
import { envValue, pathFields, pathText } from "./foreign-text.ts";
import type { Pm2App } from "./pm2-app.ts";
import { appCluster, appProfiles } from "./pm2-cluster.ts";
import { appCommand } from "./pm2-command.ts";
import { appRestarts, appSchedules } from "./pm2-policy.ts";

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
  static: "procman serves no files: add a process that does, such as `npx serve dist`",
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
  const fields = new ForeignFields(snakeCased(record), (field, advice) => notes.push([field, advice]));
  const script = fields.command("script", "exec", "cmd", "command");
  const name = fields.text("name") ?? programName(script?.split(/\s/)[0] ?? "") ?? "app";
  const draft = configuration.add(name || "app", origin.file);
  const cwd = resolve(origin.folder, fields.text("cwd") ?? "");
  const missing = script === undefined ? "is missing, so there is nothing to run" : servedFolder(fields, script);
  if (script !== undefined && missing === undefined) fillApp({ draft, fields, configuration, cwd, script });
  for (const [field, advice] of notes) draft.note(field, advice);
  if (missing !== undefined) configuration.drop(draft, "script", missing);
}

/** pm2 also takes `maxRestarts` for `max_restarts`. */
function snakeCased(record: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      /^(?!env_|interpreterArgs$|windowsHide$)[a-z]+[A-Z]/.test(name)
        ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
        : name,
      value,
    ]),
  );
}

/** `serve` is pm2's own server of files. */
function servedFolder(fields: ForeignFields, script: string): string | undefined {
  if (script !== "serve") return undefined;
  const { PM2_SERVE_PATH: path = ".", PM2_SERVE_PORT: port = 8_080, PM2_SERVE_SPA: spa } = { ...fields.object("env") };
  const options = `${scalarText(spa) === "true" ? "--single " : ""}--listen ${scalarText(port)}`;
  return `"serve" is pm2's own file server; procman has none: add one, such as "cmd": "npx serve ${options} ${scalarText(path)}"`;
}

function fillApp(app: Omit<Pm2App, "isNode">): void {
  const { draft, fields, configuration, cwd, script } = app;
  const command = appCommand(fields, script, cwd);
  const whole: Pm2App = { ...app, isNode: command.isNode };
  const place = configuration.path(cwd, ".");
  draft.set("cmd", command.line);
  if (place !== ".") draft.set("cwd", pathText([place]));
  draft.set("autostart", fields.flag("autostart") ?? true).set("stdin", true);
  environment(whole, command.env);
  appRestarts(whole);
  appSchedules(whole);
  readiness(whole);
  appProfiles(whole, appCluster(whole), envOf);
  watching(whole);
  files(whole);
  numberedFiles(whole);
  pidFile(whole);
  identity(whole);
  fields.rest(APP_ADVICE, "pm2");
}

function environment({ draft, fields }: Pm2App, more: Readonly<Record<string, string>>): void {
  const port = fields.number("port");
  const { PATH: path, ...env }: Readonly<Record<string, string | number | boolean>> = {
    ...more,
    ...envOf(fields.any("env")),
    ...(port !== undefined && { PORT: port }),
  };
  if (Object.keys(env).length > 0) draft.set("env", env);
  if (path !== undefined) draft.setAll(pathFields(String(path)));
  const files = fields.texts("env_file");
  if (files !== undefined)
    draft
      .set("envFile", files.length === 1 ? files[0] : files)
      .note("env_file", 'pm2 has no such field; procman reads the file at each start: "envFile"');
  const filter = fields.any("filter_env");
  if (filter === true)
    draft.note(
      "filter_env",
      'pm2 passes all variables on nevertheless, so this does, too; "inheritEnv": false does not',
    );
  else if (filter !== undefined && filter !== false)
    draft.note("filter_env", 'procman names what is inherited instead: "inheritEnv": ["HOME", "AWS_*"]');
}

/** Time for the message "ready". pm2 goes on without it. */
const READY_SECONDS = 30;
const PM2_READY_SECONDS = 3;

function readiness({ draft, fields, isNode }: Pm2App): void {
  const waits = fields.flag("wait_ready") === true;
  const given = fields.number("listen_timeout");
  const timeout = given === undefined ? undefined : given / 1_000;
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
  if (timeout !== undefined && !(waits && isNode))
    draft.note("listen_timeout", 'is "timeout" of "ready": docs/guide/supervision.md');
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
  const skip =
    ignored === undefined
      ? ["**/.*", "**/.*/**", "**/node_modules/**"]
      : ["**/.git/**", "**/.procman/**", ...ignored.filter(isPlainPattern).flatMap(skippedBy)];
  draft.set("watcher", {
    exts: [],
    match: ["**/*"],
    skip: [...new Set(skip)],
    ...(delay !== undefined && { interval: delay }),
  });
  const left = ignored?.filter((pattern) => !isPlainPattern(pattern)) ?? [];
  if (left.length > 0)
    draft.note("ignore_watch", `${left.join(", ")}: write them as patterns, such as **/*.log, in "skip" of "watcher"`);
}

function isPlainPattern(pattern: string): boolean {
  return /^[\w./*-]+$/.test(pattern);
}

function skippedBy(pattern: string): readonly string[] {
  const path = withoutEnd(pattern.replace(/^\.\//, ""), "/");
  return path.includes("*") ? [path] : [`**/${path}`, `**/${path}/**`];
}

function files({ draft, fields, configuration, cwd }: Pm2App): void {
  const isMerged = mergesLogs(fields) || draft.fields.cluster === undefined;
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
  if ((stdout ?? common) !== undefined && stderr === undefined && common === undefined)
    draft.note(
      "error_file",
      'standard error goes to the file of standard output, too; "stderr" of "logger" names another one',
    );
  if (common !== undefined && stdout !== undefined)
    draft.note("log_file", "procman writes each stream to one file; `procman logs` shows both together");
  if (
    (fields.text("log_date_format") !== undefined || fields.flag("time") === true) &&
    draft.fields.logger !== undefined
  )
    draft.merge("logger", { decorateFiles: true });
}

/** Without a word, pm2 gives all instances one file if their count is that of the processors, but not in cluster mode. */
function mergesLogs(fields: ForeignFields): boolean {
  const isUncounted = /^(max|0)$/.test(fields.text("instances") ?? "");
  return (
    fields.flag("merge_logs", "combine_logs") ??
    (isUncounted && fields.text("exec_mode")?.startsWith("cluster") !== true)
  );
}

/** pm2 writes the number of an app into the names of its files once the app has `instances`, also a single one. */
function numberedFiles({ draft, fields }: Pm2App): void {
  const { stdout, stderr } = (draft.fields.logger ?? {}) as { readonly stdout?: string; readonly stderr?: string };
  const path = [stdout, stderr].find((each) => each?.endsWith(".log"));
  if (path === undefined || !fields.has("instances") || mergesLogs(fields)) return;
  const [there, here] = [path.replace(/(-\{instance\}|-\d+)?\.log$/, "-0.log"), path.replace("{instance}", "1")];
  if (there === here) return;
  draft.note("merge_logs", `pm2 writes ${there}, with the number of the app from 0; here the first file is ${here}`);
}

function pidFile({ draft, fields, configuration, cwd }: Pm2App): void {
  const path = fields.text("pid_file", "pid");
  const ending = draft.fields.cluster === undefined ? "" : ".{instance}";
  if (path === undefined) return;
  draft.set("pidFile", pathText([`${configuration.path(cwd, path)}${ending}`]));
  if (path.endsWith(".pid"))
    draft.note("pid_file", `pm2 adds the number of the app: ${withoutEnd(path, ".pid")}-0.pid`);
}

function identity({ draft, fields }: Pm2App): void {
  draft.set("user", fields.any("uid", "user"));
  draft.set("group", fields.any("gid"));
  // pm2 changes nothing but HOME.
  if (draft.fields.user !== undefined && draft.fields.inheritEnv === undefined) draft.set("inheritEnv", true);
  const namespace = fields.text("namespace");
  if (namespace !== undefined && namespace !== "default") draft.set("groups", [idOf(namespace)]);
}

/** Variables as procman writes them. */
function envOf(given: unknown): Readonly<Record<string, string | number | boolean>> {
  if (!isObject(given)) return {};
  const variables: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (typeof value === "number" || typeof value === "boolean") variables[name] = value;
    // pm2 writes anything else as JSON.
    else variables[name] = envValue([typeof value === "string" ? value : JSON.stringify(value)]);
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
  watch_options: '"watcher" has what counts as a change: docs/guide/reload.md',
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
