/** Units of systemd: a service for each instance, timers for schedules, a socket for a shared one, and a target for all. */
import { addressText } from "../../../core/base/address-text.ts";
import { calendarExpressions, cronFields } from "../cron-pattern.ts";
import {
  everywhere,
  givenRule,
  hasInnerReady,
  isRestarted,
  type NoteRule,
  notesFrom,
  overlaps,
} from "../note-rules.ts";
import { commandOf } from "../start-script.ts";
import {
  comments,
  type Exported,
  type ExportedFile,
  type Note,
  type Project,
  seconds,
  type Workload,
} from "../workload.ts";
import { givenFile, isAlwaysOneshot, serviceLines } from "./systemd-service.ts";
import { isUnwritable, plainValue, unitName } from "./systemd-text.ts";

type UnitText = {
  readonly name: string;
  readonly notes: readonly Note[];
  readonly text: string;
  readonly starts: boolean;
};

export function exportSystemd(workloads: readonly Workload[], project: Project): Exported {
  const units = workloads.flatMap((workload) => unitsOf(workload, workloads, project));
  const sockets = socketsOf(workloads, project);
  const all = [targetUnit([...sockets, ...units], project), ...sockets, ...units];
  const files = all.map(
    ({ name, text, notes }): ExportedFile => ({ name, text: `${comments(project, notes)}${text}` }),
  );
  return { files, notes: all.flatMap(({ notes }) => notes) };
}

function targetUnit(units: readonly UnitText[], project: Project): UnitText {
  const started = units.filter(({ starts }) => starts).map(({ name }) => name);
  const text = `
[Unit]
Description=${plainValue(project.name)}: all processes
${started.map((name) => `Wants=${name}\n`).join("")}
[Install]
WantedBy=multi-user.target
`;
  return { name: `${unitName(project.name)}.target`, notes: [], text, starts: false };
}

function unitsOf(workload: Workload, all: readonly Workload[], project: Project): readonly UnitText[] {
  const { id, kind, spec } = workload;
  const name = nameOf(project, id);
  const service: UnitText = {
    name: `${name}.service`,
    notes: notesFrom([...RULES, givenFor(project)], workload),
    text: sections([
      ["Unit", unitLines(workload, all, project)],
      ["Service", serviceLines(workload, project)],
    ]),
    starts: kind === "service" || kind === "task",
  };
  return [
    service,
    ...timersOf(workload, name, project),
    ...(spec.terminate === undefined ? [] : terminateUnits(workload, name, project)),
  ];
}

function nameOf({ name }: Project, id: string): string {
  return `${unitName(name)}-${unitName(id)}`;
}

function unitLines(
  { id, kind, spec, process }: Workload,
  all: readonly Workload[],
  project: Project,
): readonly string[] {
  const { dependsOn = [], policy, share } = spec;
  const dependencies = dependsOn.flatMap(({ id: other, condition, restart }) =>
    all
      .filter((workload) => workload.process === other)
      .flatMap((workload) => {
        const unit = `${nameOf(project, workload.id)}.service`;
        return [
          `${condition === "finished" ? "Requires" : "Wants"}=${unit}`,
          `After=${unit}`,
          ...(restart ? [`PartOf=${unit}`] : []),
        ];
      }),
  );
  const socket = `${nameOf(project, process)}.socket`;
  return [
    `Description=${plainValue(`${id} of ${project.name}`)}`,
    // A manual start must not be undone by a start of the target, but its stop ends everything.
    `PartOf=${unitName(project.name)}.target`,
    ...dependencies,
    ...(share === undefined ? [] : [`Requires=${socket}`, `After=${socket}`]),
    ...(kind === "scheduled" ? [NO_LIMIT] : startLimit(policy)),
  ];
}

/** Without it systemd refuses the sixth start within 10 s, also one by hand or by a timer. */
const NO_LIMIT = "StartLimitIntervalSec=0";

/** systemd counts the starts in an interval, procman the restarts in a row: so the interval has room for all of them. */
function startLimit({
  restart,
  restartLimit,
  restartResetMs,
  restartDelayMs = 0,
}: Workload["spec"]["policy"]): readonly string[] {
  if (restart === "never" || restartLimit === Number.POSITIVE_INFINITY) return [NO_LIMIT];
  const interval = Math.ceil(((restartLimit + 1) * (restartResetMs + restartDelayMs)) / 1_000);
  return [`StartLimitBurst=${restartLimit + 1}`, `StartLimitIntervalSec=${interval}`];
}

function timersOf(workload: Workload, name: string, project: Project): readonly UnitText[] {
  const { cron, catchUp, jitter } = workload.spec;
  if (cron === undefined) return [];
  const lines = [
    ...(catchUp === true ? ["Persistent=yes"] : []),
    ...(jitter === undefined ? [] : [`RandomizedDelaySec=${seconds(jitter)}`, "FixedRandomDelay=yes"]),
  ];
  return timer(workload, { name, field: "cron", pattern: cron, lines, project });
}

type TimerParts = {
  readonly name: string;
  readonly field: "cron" | "terminate";
  readonly pattern: string;
  readonly lines: readonly string[];
  readonly project: Project;
};

function timer({ id, spec }: Workload, { name, field, pattern, lines, project }: TimerParts): readonly UnitText[] {
  const fields = cronFields(pattern);
  if (fields === undefined) {
    const text = `OnCalendar= can't express ${pattern}; write it without W, as a list of days`;
    return [{ name: `${name}.timer`, notes: [{ process: id, field, text, blocks: true }], text: "", starts: false }];
  }
  const text = sections([
    [
      "Unit",
      [`Description=${plainValue(`Times of ${id} of ${project.name}`)}`, `PartOf=${unitName(project.name)}.target`],
    ],
    [
      "Timer",
      [
        ...calendarExpressions(fields, spec.timeZone).map((expression) => `OnCalendar=${expression}`),
        // Without it a start may be up to a minute late.
        "AccuracySec=1s",
        ...lines,
      ],
    ],
  ]);
  return [{ name: `${name}.timer`, notes: [], text, starts: true }];
}

/** A service that restarts or stops another one, and its times. */
function terminateUnits(workload: Workload, name: string, project: Project): readonly UnitText[] {
  const { id, spec } = workload;
  const verb = spec.policy.restart === "always" ? "try-restart" : "stop";
  const stop = `${name}-terminate`;
  const text = sections([
    ["Unit", [`Description=${plainValue(`${verb} of ${id} of ${project.name}`)}`]],
    ["Service", ["Type=oneshot", `ExecStart=systemctl --no-block ${verb} ${name}.service`]],
  ]);
  const timers = timer(workload, {
    name: stop,
    field: "terminate",
    pattern: spec.terminate as string,
    lines: [],
    project,
  });
  return [{ name: `${stop}.service`, notes: [], text, starts: false }, ...timers];
}

/** One for each cluster whose instances share a socket: systemd passes it to each of them as descriptor 3. */
function socketsOf(workloads: readonly Workload[], project: Project): readonly UnitText[] {
  const first = new Map(
    workloads
      .filter(({ spec }) => spec.share !== undefined)
      .map((workload) => [workload.process, workload])
      .reverse() as [string, Workload][],
  );
  return [...first].map(([process, { id, spec }]) => {
    const { hostname = "", port = 0 } = spec.share ?? {};
    const address = addressText({ hostname: hostname === "localhost" ? "127.0.0.1" : hostname, port });
    const text = sections([
      [
        "Unit",
        [
          `Description=${plainValue(`Socket of ${process} of ${project.name}`)}`,
          `PartOf=${unitName(project.name)}.target`,
        ],
      ],
      ["Socket", [`ListenStream=${address}`, `Service=${nameOf(project, id)}.service`]],
    ]);
    return { name: `${nameOf(project, process)}.socket`, notes: [], text, starts: true };
  });
}

function sections(parts: readonly (readonly [title: string, lines: readonly string[]])[]): string {
  return parts.map(([title, lines]) => `\n[${title}]\n${lines.join("\n")}\n`).join("");
}

function givenFor(project: Project): NoteRule {
  return givenRule(
    (names, { process }) =>
      `write ${names.map((name) => `${name}=…`).join(", ")} to ${givenFile(project, process)}, for root alone`,
  );
}

const UNWRITABLE =
  "ends with a backslash or a blank, or has a line break, which a unit can't have; choose another name";
/** systemd runs `+program` as root, and others in other ways; quotes don't help. */
const PREFIX = /^[@:+!|-]/;

const RULES: readonly NoteRule[] = [
  ["cwd", ({ spec }) => isUnwritable(spec.cwd), UNWRITABLE, "blocks"],
  ["user", ({ spec }) => isUnwritable(spec.user?.name ?? ""), UNWRITABLE, "blocks"],
  [
    "envFile",
    ({ spec }) => (spec.envFile ?? []).some((file) => isUnwritable(typeof file === "string" ? file : file.path)),
    UNWRITABLE,
    "blocks",
  ],
  [
    "env",
    ({ variables }) => variables.some((each) => each.kind === "file" && isUnwritable(each.path)),
    UNWRITABLE,
    "blocks",
  ],
  [
    "stdin",
    ({ spec: { stdin } }) => typeof stdin === "object" && isUnwritable(stdin.file),
    UNWRITABLE,
    "blocks",
  ],
  ["logger.stdout", ({ spec }) => isUnwritable(spec.log.stdout ?? ""), UNWRITABLE, "blocks"],
  ["logger.stderr", ({ spec }) => isUnwritable(spec.log.stderr ?? ""), UNWRITABLE, "blocks"],
  [
    "cmd",
    (workload) => PREFIX.test(commandOf(workload)[0] ?? ""),
    "begins with a character that changes how systemd runs it; name its path",
    "blocks",
  ],
  ...everywhere("systemd"),
  [
    "cluster.commonPort",
    ({ spec }) => spec.front !== undefined && spec.cluster?.index === 0,
    "systemd balances no connections: procman export --to haproxy writes a load balancer for the instances",
  ],
  ["ready", hasInnerReady, "systemd knows sd_notify (Type=notify) only; what depends on it doesn't wait"],
  [
    "health",
    ({ spec }) => spec.health !== undefined,
    "systemd makes no checks; the program can report by sd_notify with WatchdogSec=",
  ],
  [
    "memoryLimit",
    ({ spec }) => spec.memoryLimit !== undefined && spec.memoryMax === undefined,
    "became MemoryMax=: the kernel kills a service that needs more",
  ],
  [
    "restartDelayMs",
    (workload) => isRestarted(workload) && workload.spec.policy.restartDelayMs === undefined,
    "is 1 s: growing delays need RestartSteps= and RestartMaxDelaySec= of systemd 254",
  ],
  ["overrun", overlaps, "systemd starts it only when it isn't running"],
  [
    "logger.rotate",
    ({ spec: { log } }) => log.rotation !== undefined && log.stdout !== undefined,
    "systemd rotates no files: use logrotate, or leave out logger.stdout for the journal",
  ],
  ["restart", isAlwaysOneshot, "a unit that ends by itself can't have Restart=always; it has on-failure"],
];
