/** A Procfile, for foreman, honcho, overmind and platforms. */
import { relative } from "node:path";
import {
  commonRules,
  givenRule,
  isManual,
  isRestarted,
  isScheduled,
  type NoteRule,
  notesFrom,
  TIME_ZONE,
} from "../note-rules.ts";
import { exportsOf, lineOf, quoted } from "../start-script.ts";
import { comments, type Exported, type Note, type Project, type Workload } from "../workload.ts";

const TITLE = "a Procfile";
const SEVERAL_LINES = {
  text: "a Procfile has one line for a process: its command, folder or variables have a line break; put them into a script",
  blocks: true,
} as const;

export function exportProcfile(workloads: readonly Workload[], project: Project): Exported {
  const started = workloads.filter((workload) => !isLeftOut(workload));
  const names = started.map(({ id }) => procfileName(id));
  const notes = [
    ...formation(started),
    ...workloads.flatMap(notesOf),
    ...started
      .filter((workload) => lineFor(workload, project).includes("\n"))
      .map(({ id }): Note => ({ process: id, ...SEVERAL_LINES })),
    ...started.flatMap(({ id }, index): readonly Note[] => {
      const text = `would be called ${names[index]} in a Procfile, as another process is; give it another id`;
      return names.indexOf(names[index] as string) === index ? [] : [{ process: id, field: "id", text, blocks: true }];
    }),
  ];
  const lines = started.map((workload) => `${procfileName(workload.id)}: ${lineFor(workload, project)}\n`);
  return { files: [{ name: "Procfile", text: `${comments(project, notes)}${lines.join("")}` }], notes };
}

/** Letters, digits, underscores and hyphens. */
function procfileName(id: string): string {
  return id.replace(/[^\w-]/g, "_");
}

function lineFor(workload: Workload, { folder }: Project): string {
  const { spec, variables } = workload;
  const place = relative(folder, spec.cwd);
  const own = variables.filter(({ kind, name }) => kind !== "given" && !name.startsWith("PROCMAN_"));
  const path =
    spec.path.length + (spec.pathFirst ?? []).length === 0
      ? []
      : [`export PATH=${[...(spec.pathFirst ?? []), "$PATH", ...spec.path].map(pathWord).join(":")}`];
  return [...(place === "" ? [] : [`cd ${quoted(place)} || exit`]), ...path, ...exportsOf(own), lineOf(workload)].join(
    "; ",
  );
}

function pathWord(folder: string): string {
  return folder === "$PATH" ? '"$PATH"' : quoted(folder);
}

function formation(started: readonly Workload[]): readonly Note[] {
  const many = started.filter(({ replicas }) => replicas > 1);
  if (many.length === 0) return [];
  const all = started.map(({ id, replicas }) => `${procfileName(id)}=${replicas}`).join(",");
  return [{ text: `several instances: foreman start -m ${all}; PORT is then that of foreman` }];
}

const LIMITS = [
  "memoryLimit",
  "memoryMax",
  "cpuQuota",
  "ulimits",
  "user",
  "group",
  "nice",
  "ioNice",
  "oomScoreAdjust",
  "umask",
] as const;
const isLeftOut = (workload: Workload): boolean => isScheduled(workload) || isManual(workload);

/** Rules for a process that has a line. */
const LINE_RULES: readonly NoteRule[] = [
  ...commonRules(TITLE),
  givenRule((names) => `put ${names.join(", ")} into the .env of foreman`),
  [
    "envFile",
    ({ spec }) => spec.envFile !== undefined,
    "foreman reads .env, other files by -e; all processes get them",
  ],
  ["restart", isRestarted, "foreman ends all when one ends; overmind has --auto-restart"],
  [
    "cluster.commonPort",
    ({ spec }) => spec.front !== undefined || spec.share !== undefined,
    "nothing balances connections: procman export --to haproxy",
  ],
  ["ready, health", ({ spec }) => spec.ready !== undefined || spec.health !== undefined, `${TITLE} has no checks`],
  [
    "hooks",
    ({ spec }) => (spec.policy.beforeStart ?? spec.policy.afterStop) !== undefined,
    `${TITLE} has none; call them in cmd`,
  ],
  [
    "stopSignal, terminateTimeout",
    ({ spec: { policy } }) => policy.stopSignal !== undefined || policy.terminateMs !== 30_000 || policy.graceMs > 0,
    "foreman sends SIGTERM at once, and SIGKILL after 5 s (-t)",
  ],
  ["timeout", ({ spec }) => spec.policy.timeoutMs !== 0, `${TITLE} has none; put timeout(1) in front of cmd`],
  ["dependsOn", ({ spec }) => spec.dependsOn !== undefined, "all start at once"],
  ...LIMITS.map(
    (name): NoteRule => [name, ({ spec }) => spec[name] !== undefined, `${TITLE} has no limits and no users`],
  ),
];

/** Rules for a process that has no line. */
const OTHER_RULES: readonly NoteRule[] = [
  [
    "cron",
    isScheduled,
    (workload) =>
      `left out: ${TITLE} has no schedules; for a crontab: ${workload.spec.cron} cd ${workload.spec.cwd} && ${lineOf(workload)}`,
  ],
  TIME_ZONE,
  ["autostart", isManual, (workload) => `left out: it starts by hand: ${lineOf(workload)}`],
];

function notesOf(workload: Workload): readonly Note[] {
  return notesFrom(isLeftOut(workload) ? OTHER_RULES : LINE_RULES, workload);
}
