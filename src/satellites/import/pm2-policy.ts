/** When an app of pm2 is restarted, and how it is stopped. */
import type { Pm2App } from "./pm2-app.ts";

/** What pm2 does where an app says nothing. */
const PM2_DEFAULTS = { uptimeMs: 1_000, restarts: 16, killMs: 1_600 };

/** pm2 makes each delay half as long again, up to this. */
const LONGEST_DELAY_MS = 15_000;

export function appRestarts(app: Pm2App): void {
  const { draft, fields } = app;
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
  const uptime = millisecondsOf(fields.text("min_uptime"));
  draft.set("minUptimeMs", uptime);
  const [max, delay, growing] = [
    fields.number("max_restarts"),
    positive(fields.number("restart_delay")) ?? 0,
    positive(fields.number("exp_backoff_restart_delay")),
  ];
  if (growing !== undefined)
    draft.note(
      "exp_backoff_restart_delay",
      'is what procman does without "restartDelayMs": at once, then after 100 ms, growing to 30 s',
    );
  if (isRestarted) {
    draft.set("restartDelayMs", growing === undefined ? delay : undefined);
    restartLimit(app, { uptime: uptime ?? PM2_DEFAULTS.uptimeMs, max, delay, growing });
  }
  stops(app);
}

type Pm2Restarts = {
  readonly uptime: number;
  readonly max: number | undefined;
  readonly delay: number;
  readonly growing: number | undefined;
};

/**
 * pm2 counts runs that end before `uptime`, and only until `max` times that have passed since the first start: an app
 * whose delays take longer is restarted without end.
 */
function restartLimit({ draft }: Pm2App, { uptime, max, delay, growing }: Pm2Restarts): void {
  draft.set("restartResetMs", uptime);
  const count = max ?? PM2_DEFAULTS.restarts;
  let waited = 0;
  let next = growing ?? delay;
  for (let restart = 1; restart < count && waited < uptime * count; restart++) {
    waited += next;
    if (growing !== undefined) next = Math.min(LONGEST_DELAY_MS, next * 1.5);
  }
  // It gives up at the end of that run, which is one restart less.
  if (waited < uptime * count || count <= 0) draft.set("restartLimit", count > 0 ? count - 1 : count);
  else if (max !== undefined)
    draft.note(
      "max_restarts",
      `pm2 counts only for ${(uptime * count) / 1_000} s after the first start, too short for ${count} restarts with this delay: there is no limit`,
    );
}

function stops({ draft, fields }: Pm2App): void {
  draft.set("memoryLimit", sizeOf(fields.text("max_memory_restart")));
  draft.set("stopSignal", "SIGINT");
  draft.set("terminateTimeout", (fields.number("kill_timeout") ?? PM2_DEFAULTS.killMs) / 1_000);
  if (fields.flag("treekill") === false) draft.set("killMode", "leader");
}

/** `cron_restart` without `autorestart` is a job. */
export function appSchedules({ draft, fields }: Pm2App): void {
  const pattern = fields.text("cron_restart", "cron");
  if (pattern === undefined || pattern === "0") return;
  // A stop at a time is a restart only with "always".
  if (draft.fields.restart === "error")
    return void draft.note(
      "cron_restart",
      `${pattern}: a restart at a time needs "restart": "always". With stop_exit_codes let a second process do it: "cmd": "procman restart ${draft.id}", "cron": "${pattern}"`,
    );
  if (draft.fields.restart === "always") return void draft.set("terminate", pattern);
  draft.set("cron", pattern);
  delete draft.fields.restart;
  delete draft.fields.autostart;
  draft.note(
    "cron_restart",
    `pm2 also starts it at once; here it starts at these times only, and by \`procman start ${draft.id}\``,
  );
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 ? value : undefined;
}

/** Milliseconds of `1000`, `10s`, `5m`, `1h`. */
function millisecondsOf(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * ({ s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? 1);
}

/** pm2 counts in powers of 1024. */
function sizeOf(text: string | undefined): string | number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([KMG])?B?$/i.exec(text?.trim() ?? "") ?? [];
  if (number === "") return text;
  return unit === "" ? Number(number) : `${number}${{ K: "KiB", M: "MiB", G: "GiB" }[unit.toUpperCase()]}`;
}
