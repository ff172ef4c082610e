/** What a running pm2 lists (`pm2 jlist`) or has saved (`dump.pm2`), as apps of an ecosystem file. */
import { basename, dirname } from "node:path";
import { isObject } from "../../core/base/schema-check.ts";
import { scalarText } from "./foreign-fields.ts";

type AppRecord = Readonly<Record<string, unknown>>;

/** Fields that mean the same in both. */
const SAME = [
  "name",
  "namespace",
  "args",
  "node_args",
  "autorestart",
  "autostart",
  "max_restarts",
  "min_uptime",
  "restart_delay",
  "exp_backoff_restart_delay",
  "kill_timeout",
  "listen_timeout",
  "wait_ready",
  "shutdown_with_message",
  "cron_restart",
  "stop_exit_codes",
  "max_memory_restart",
  "watch",
  "ignore_watch",
  "watch_delay",
  "merge_logs",
  "log_date_format",
  "uid",
  "gid",
  "treekill",
  "instance_var",
  "increment_var",
  "filter_env",
];

/** Variables of the shell in which pm2 was called, of pm2 itself, or of each session: they say nothing about the app. */
const OF_SESSIONS =
  /^(_|PWD|OLDPWD|SHLVL|HOME|USER|LOGNAME|SHELL|TERM.*|LANG|LANGUAGE|LC_.*|PATH|MAIL|EDITOR|DISPLAY|COLORTERM|LS_COLORS|HOSTNAME|TMUX.*|SSH_.*|XDG_.*|DBUS_.*|SUDO_.*|PM2_.*|NODE_APP_INSTANCE|unique_id|vizion_running|io|pm_.*|npm_.*|NVM_.*|PYTHONUNBUFFERED|windowsHide|automation|pmx|instances|exec_mode|exec_interpreter|created_at|status|axm_.*|node_version|version|prev_restart_delay|restart_time|unstable_restarts|username)$/;

/** undefined: it is none of them. `environment`: that of this process; variables that are equal in it are inherited anyway. */
export function appsOfDump(data: unknown, environment: NodeJS.ProcessEnv): readonly AppRecord[] | undefined {
  if (
    !Array.isArray(data) ||
    !data.some((entry) => isObject(entry) && (isObject(entry.pm2_env) || entry.pm_exec_path !== undefined))
  )
    return undefined;
  const byName = new Map<string, AppRecord[]>();
  for (const entry of data) {
    if (!isObject(entry)) continue;
    const app = isObject(entry.pm2_env) ? { ...entry.pm2_env, name: entry.name ?? entry.pm2_env.name } : entry;
    const name = scalarText(app.name);
    // Modules of pm2 itself, such as pm2-logrotate.
    if (app.pmx_module !== true) byName.set(name, [...(byName.get(name) ?? []), app]);
  }
  return [...byName.values()].map((instances) => appOf(instances, environment));
}

function appOf([app = {}, ...others]: readonly AppRecord[], environment: NodeJS.ProcessEnv): AppRecord {
  const interpreter = scalarText(app.exec_interpreter ?? "none");
  const isCluster = app.exec_mode === "cluster_mode";
  const isNumbered = others.length > 0 && app.merge_logs !== true;
  return {
    ...Object.fromEntries(SAME.flatMap((name) => (isSet(app[name]) ? [[name, app[name]]] : []))),
    script: app.pm_exec_path,
    interpreter: basename(interpreter) === "node" ? "node" : interpreter,
    cwd: app.pm_cwd,
    // A stop by hand stays.
    ...(app.status === "stopped" && app.autorestart !== false && { autostart: false }),
    exec_mode: isCluster ? "cluster" : "fork",
    ...((isCluster || others.length > 0) && { instances: others.length + 1 }),
    env: isObject(app.env) ? ownVariables(app.env, scalarText(app.name), environment) : {},
    ...logFile("out_file", app.pm_out_log_path, isNumbered),
    ...logFile("error_file", app.pm_err_log_path, isNumbered),
  };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0);
}

/** pm2 keeps the whole environment of the shell in which an app was started. */
function ownVariables(env: AppRecord, name: string, environment: NodeJS.ProcessEnv): AppRecord {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([key, value]) =>
        !OF_SESSIONS.test(key) && key !== name && environment[key] !== scalarText(value) && !isObject(value),
    ),
  );
}

/** Without files in pm2's own folder, which it makes for each app. `isNumbered`: it is that of the first instance. */
function logFile(field: string, path: unknown, isNumbered: boolean): AppRecord {
  return typeof path !== "string" ||
    path === "/dev/null" ||
    basename(dirname(dirname(path))) === ".pm2" ||
    /\.pm2\/logs\//.test(path)
    ? {}
    : { [field]: isNumbered ? path.replace(/-\d+\.log$/, ".log") : path };
}
