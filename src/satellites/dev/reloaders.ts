/** Which programs start again by themselves when a file changes: `--watch` leaves those alone. */
import { packageIn } from "../../core/config/package-file.ts";
import type { ProcessSpec } from "../../core/config/spec.ts";

const RELOADERS: readonly RegExp[] = [
  /--(?:watch|reload|hot)\b/,
  /(?:^|[\s/])(?:nodemon|node-dev|ts-node-dev|tsnd|watchexec|entr|air|reflex|browser-sync|live-server)(?=\s|$)/,
  /\b(?:tsx|bun|deno|cargo|gulp) watch\b/,
  /\bvite(?!\S| build| preview)/,
  /\b(?:next|nuxt|nuxi|astro|remix|svelte-kit|wrangler|turbo|expo|gatsby|parcel|serverless) (?:dev|develop|start|serve)\b/,
  /\b(?:webpack serve|webpack-dev-server|react-scripts start|vue-cli-service serve|ng serve|parcel serve|quasar dev)\b/,
  /\b(?:rails (?:s|server)|manage\.py runserver|flask (?:\S+ ){0,4}--debug|fastapi dev)\b/,
];

/** A script of package.json, as package managers run it. */
const PACKAGE_SCRIPT = /^(?:npm|pnpm|yarn|bun)(?: run(?:-script)?)? ([\w:.-]+)/;

/** Whether its command, or the script of package.json that this runs, has a reloader. */
function reloadsItself({ command, cwd }: Pick<ProcessSpec, "command" | "cwd">): boolean {
  if (command.kind !== "shell") return false;
  return [command.line, scriptOf(command.line, cwd)].some((line) => RELOADERS.some((pattern) => pattern.test(line)));
}

function scriptOf(line: string, cwd: string): string {
  const [, name = ""] = PACKAGE_SCRIPT.exec(line) ?? [];
  const scripts = name === "" ? undefined : packageIn(cwd)?.scripts;
  const script = typeof scripts === "object" && scripts !== null ? (scripts as Record<string, unknown>)[name] : "";
  return typeof script === "string" ? script : "";
}

/** Ids of the processes that start, by whether they reload themselves; those that say what they watch are in neither. */
export function reloadPlan(processes: readonly ProcessSpec[]): {
  readonly watched: readonly string[];
  readonly own: readonly string[];
} {
  const asked = processes.filter(({ watch, autostart, cron }) => watch.length === 0 && autostart && cron === undefined);
  const idsOf = (isSelf: boolean): readonly string[] => [
    ...new Set(asked.filter((spec) => reloadsItself(spec) === isSelf).map(({ id, cluster }) => cluster?.id ?? id)),
  ];
  return { watched: idsOf(false), own: idsOf(true) };
}
