/** Values of pm2's fields: durations, sizes, environments; and advice for fields without an equal. */
import { isObject } from "../../core/base/schema-check.ts";
import type { AdviceTable, TakeNote } from "./foreign-fields.ts";
import { envValue } from "./foreign-text.ts";

/** Milliseconds of `1000`, `10s`, `5m`, `1h`. */
export function millisecondsOf(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * ({ s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? 1);
}

/** Converts milliseconds to seconds. */
export function seconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / 1_000;
}

/** pm2 counts in powers of 1024. */
export function sizeOf(text: string | undefined): string | number | undefined {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)([KMG])?B?$/i.exec(text?.trim() ?? "") ?? [];
  if (number === "") return text;
  return unit === "" ? Number(number) : `${number}${{ K: "KiB", M: "MiB", G: "GiB" }[unit.toUpperCase()]}`;
}

/** Variables as procman writes them. */
export function envOf(given: unknown, note: TakeNote): Readonly<Record<string, string | number | boolean>> {
  if (!isObject(given)) return {};
  const variables: Record<string, string | number | boolean> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (typeof value === "number" || typeof value === "boolean") variables[name] = value;
    else if (typeof value === "string") variables[name] = envValue([value]);
    else note(`env.${name}`, "is no text; a variable is a text, a number, true or false");
    if (name === "PATH")
      note("env.PATH", 'replaces PATH in pm2; here its folders are appended to that of procman. Folders that must come first: "pathFirst"');
  }
  return variables;
}

const UNNEEDED = "";

export const PM2_ADVICE: AdviceTable = {
  log_type: 'as JSON, and with the time: "format": "json" of the top level "logger", for the console',
  disable_logs: 'without files the output is only in the stored log: "internalLogHours": 0 of the top level "logger" keeps none',
  install_url: "procman installs nothing",
  name_prefix: "procman has one name for each configuration, and groups: docs/guide/groups.md",
  watch_options: 'the top level "watcher" has what counts as a change: docs/guide/watch.md',
  vizion: UNNEEDED,
  force: "an id is unique; for several equal processes use a cluster: docs/guide/clusters.md",
  append_env_to_name: 'give each environment a configuration with a "name", or use profiles',
  post_update: "let your CI call these commands, then `procman reload`",
  trace: "metrics and traces: the plugin procman/otlp, docs/guide/plugins.md",
  disable_trace: UNNEEDED,
  v8: UNNEEDED,
  event_loop_inspector: UNNEEDED,
  deep_monitoring: "metrics: docs/reference/metrics.md",
  pmx: UNNEEDED,
  automation: UNNEEDED,
  io: "is for pm2.io; metrics are in docs/reference/metrics.md",
  source_map_support: 'if stack traces must name the original source: "env": { "NODE_OPTIONS": "--enable-source-maps" }',
  disable_source_map_support: UNNEEDED,
  username: UNNEEDED,
  windowsHide: UNNEEDED,
  kill_retry_time: UNNEEDED,
  write: UNNEEDED,
  execute_command: UNNEEDED,
  filter_env: UNNEEDED,
  ignore_watch: UNNEEDED,
};
