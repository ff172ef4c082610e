/** `watch` of process-compose: the files whose changes restart a process. */
import { resolve } from "node:path";
import { isObject } from "../../core/base/schema-check.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { secondsIn } from "./compose-values.ts";
import { ForeignFields } from "./foreign-fields.ts";
import type { ForeignProcess } from "./foreign-process.ts";

/** process-compose waits this long for further changes, unless the file says something else. Seconds. */
const DEBOUNCE_SECONDS = 0.3;
/** What it ignores unless the file says otherwise. */
const IGNORED_FOLDERS = [
  ...[".git", ".hg", ".svn", ".idea", ".vscode", "node_modules", "vendor", "target", "dist", "build", "bin", ".venv"],
  ...["venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".next", ".nuxt", ".terraform", ".gradle", ".direnv"],
  "result",
] as const;
const IGNORED_FILES = ["*.log", "*.log.gz", "*.swp", "*.swo", "*~", ".DS_Store"] as const;
const IGNORED = [...IGNORED_FOLDERS.map((name) => `**/${name}/**`), ...IGNORED_FILES.map(anywhere)];

/** `isManual`: procman would start a process that is watched. */
export function importWatch(
  { draft, fields, configuration }: Pick<ForeignProcess, "draft" | "fields" | "configuration">,
  { cwd, isManual }: { readonly cwd: string; readonly isManual: boolean },
): void {
  const given = fields.object("watch");
  if (given === undefined) return;
  if (isManual)
    return void draft.note("watch", 'is left out, because the process is disabled: "watch" would start it here');
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "watch.");
  const roots = [own.any("paths") ?? []].flat().filter(isObject);
  const skip = own.flag("disable_default_excludes") === true ? [] : [...IGNORED];
  const watched = roots.flatMap((each) => {
    const root = new ForeignFields(each, (field, advice) => draft.note(field, advice), "watch.paths.");
    const path = root.text("path") ?? ".";
    const place = configuration.path(cwd, path);
    const within = (pattern: string): string => `${place === "." ? "" : `${place}/`}${anywhere(pattern)}`;
    skip.push(...(root.texts("exclude") ?? []).map(within));
    const included = root.texts("include") ?? [];
    root.rest({}, "process-compose");
    if (included.length > 0) return included.map(within);
    return statIfSeen(resolve(cwd, path))?.isFile() === true ? place : within("*");
  });
  if (watched.length === 0) return void draft.note("watch", "names no path, so nothing is watched");
  const seconds = secondsIn(own.any("debounce")) ?? DEBOUNCE_SECONDS;
  configuration.merge("watcher", { skip: IGNORED });
  draft.set("watch", watched).set("watcher", {
    interval: Math.round(seconds * 1_000),
    ...(skip.length !== IGNORED.length && { skip }),
  });
  if (own.flag("cascade") === true)
    draft.note(
      "watch.cascade",
      `what depends on it restarts with it by { "id": "${draft.id}", "restart": true } in its "dependsOn"`,
    );
  own.rest({ max_entries: "", buffer_size: "" }, "process-compose");
}

/** Without a slash it is the name of a file at any depth. */
function anywhere(pattern: string): string {
  return pattern.includes("/") ? pattern : `**/${pattern}`;
}
