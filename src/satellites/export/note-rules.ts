/** Tables of what a target can't carry. */
import { isProbe } from "./probe-command.ts";
import { keepsShell } from "./start-script.ts";
import { type Note, oneLine, type Workload } from "./workload.ts";
import { givenNames } from "./workloads.ts";

/** A note about a field, if the condition holds. `blocks`: the process can't be exported. */
export type NoteRule = readonly [
  field: string,
  applies: (workload: Workload) => boolean,
  text: string | ((workload: Workload) => string),
  blocks?: "blocks",
];

export function notesFrom(rules: readonly NoteRule[], workload: Workload): readonly Note[] {
  return rules
    .filter(([, applies]) => applies(workload))
    .map(([field, , text, blocks]) => ({
      process: workload.id,
      field,
      text: oneLine(typeof text === "string" ? text : text(workload)),
      ...(blocks === undefined ? {} : { blocks: true }),
    }));
}

export const isScheduled = ({ kind }: Workload): boolean => kind === "scheduled";
export const isManual = ({ kind }: Workload): boolean => kind === "manual";
export const isService = ({ kind }: Workload): boolean => kind === "service";
export const isRestarted = ({ kind, spec }: Workload): boolean =>
  kind !== "scheduled" && spec.policy.restart !== "never";
export const isLimited = ({ spec }: Workload): boolean => Number.isFinite(spec.policy.restartLimit);
export const hasOwnSuccess = (workload: Workload): boolean =>
  workload.spec.policy.successExitCodes !== undefined && workload.spec.policy.restart !== "always";
/** A check that another program can't make. */
export const hasInnerReady = ({ spec: { ready } }: Workload): boolean => ready !== undefined && !isProbe(ready);

/** Rules for all targets but systemd, which has words for most of it. */
export function commonRules(title: string): readonly NoteRule[] {
  return [
    ["terminate", ({ spec }) => spec.terminate !== undefined, `${title} has no schedule of stops`],
    [
      "cron",
      ({ spec }) => spec.cron !== undefined && spec.autostart,
      "it starts at once, as a service; the starts by its schedule are left out",
    ],
    [
      "stdin",
      ({ spec }) => typeof spec.stdin === "object",
      `${title} gives it no file as its input: write "< FILE" at the end of "cmd"`,
    ],
    [
      "reloadSignal",
      ({ spec }) => spec.policy.reloadSignal !== undefined,
      ({ spec }) => `${title} has no equivalent; send ${spec.policy.reloadSignal} by its command for signals`,
    ],
    [
      "logger",
      ({ spec: { log } }) => (log.stdout ?? log.stderr) !== undefined,
      `its output isn't written to files: ${title} gets it from standard output and standard error`,
    ],
    [
      "jitter",
      ({ spec, kind }) => kind === "scheduled" && spec.jitter !== undefined,
      `${title} starts it exactly at its times`,
    ],
    ...everywhere(title),
  ];
}

/** Rules for all targets. */
export function everywhere(title: string): readonly NoteRule[] {
  return [
    [
      "envFile",
      ({ mayHavePort }) => mayHavePort,
      "can't be read here: if it sets PORT, remove the PORT of the instance from what was exported",
    ],
    [
      "stdin",
      ({ spec }) => spec.stdin === true,
      `${title} gives it an input that ends at once, unless you tell it otherwise`,
    ],
    ["tty", ({ spec }) => spec.tty === true, `${title} gives it no terminal: neither colors nor prompts`],
    [
      "cmd",
      ({ hidesSecret }) => hidesSecret,
      'what may be secret in its commands is written as ***; put it into a variable, and "$NAME" there',
    ],
    ...ofProcman(title),
    [
      "worker",
      ({ spec }) => spec.command.kind === "worker",
      "nothing sends it the message drain: it must finish at the stop signal",
    ],
    [
      "node",
      ({ spec }) => spec.node === true,
      "it has no channel: process.send is missing, and its first listen uses the port of the program",
    ],
  ];
}

/** What procman does, and no target. */
function ofProcman(title: string): readonly NoteRule[] {
  return [
    ["pidFile", ({ spec }) => spec.pidFile !== undefined, `${title} writes none`],
    [
      "idle",
      ({ spec }) => spec.idle !== undefined,
      "it runs all the time: nothing stops it there while it has no client",
    ],
    ["groups", ({ spec }) => spec.groups !== undefined, `${title} has none`],
    [
      "scale",
      ({ spec }) => spec.scale !== undefined && title !== "Kubernetes",
      `${title} doesn't scale by load or schedule: the number of instances is fixed`,
    ],
    [
      "watch",
      ({ spec }) => spec.watch.length > 0,
      `${title} restarts nothing when files change; use procman while developing`,
    ],
  ];
}

/** Rule for a target that names a line for the crontab. */
export const TIME_ZONE: NoteRule = [
  "timeZone",
  ({ spec, kind }) => kind === "scheduled" && spec.timeZone !== undefined,
  ({ spec }) => `cron has the time zone of its machine: CRON_TZ=${spec.timeZone} above the line, where cron knows that`,
];

export const isMissed = ({ kind, spec }: Workload): boolean => kind === "scheduled" && spec.catchUp === true;
export const overlaps = ({ kind, spec }: Workload): boolean => kind === "scheduled" && spec.overrun;

/** Rules for all container engines. */
export function containerRules(title: string): readonly NoteRule[] {
  return [
    [
      "cluster.mode",
      ({ spec }) => spec.share !== undefined,
      'containers can\'t share a listening socket; use "balance" with a startPort, or leave the process with procman',
      "blocks",
    ],
    ...commonRules(title),
    ["cluster.instances", ({ replicas }) => replicas > 1, "PROCMAN_CLUSTER_INSTANCE is 0 in all replicas"],
    [
      "hooks.afterStop",
      ({ spec }) => spec.policy.afterStop !== undefined,
      `${title} runs nothing after the end of a container`,
    ],
    [
      "cmd",
      keepsShell,
      "a shell stays beside the program, and gets the stop signal in its place; put exec before the program",
    ],
    ["ready", hasInnerReady, `${title} can't know it; use ready.port, ready.http or ready.exec`],
    [
      "memoryLimit",
      ({ spec }) => spec.memoryLimit !== undefined && spec.memoryMax === undefined,
      "became a hard limit: the kernel kills a container that needs more",
    ],
    ["ioNice", ({ spec }) => spec.ioNice !== undefined, `${title} has no equivalent`],
    [
      "nice",
      ({ spec }) => (spec.nice ?? 0) < 0,
      "a container can't raise its priority without the capability SYS_NICE",
    ],
  ];
}

/** Rule for engines without a time before the stop signal. */
export const GRACE: NoteRule = [
  "terminateGracePeriod",
  ({ spec }) => spec.policy.graceMs > 0,
  "the stop signal comes at once; the time is added to that before SIGKILL",
];

/** The variables that have to be given to the target. */
export function givenRule(how: (names: readonly string[], workload: Workload) => string): NoteRule {
  const namesOf = (workload: Workload): readonly string[] =>
    [...givenNames(workload)].filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return ["env", (workload) => namesOf(workload).length > 0, (workload) => how(namesOf(workload), workload)];
}

/** What no ingress network or Service of an engine has, beside its strategy. */
export function frontRules(title: string): readonly NoteRule[] {
  return [
    [
      "cluster.proxyProtocol",
      ({ spec }) => spec.front?.proxyProtocol === true,
      `${title} sends no such header: the program must not expect it`,
    ],
    ["cluster.maxConnections", ({ spec }) => spec.front?.maxConnections !== undefined, `${title} has no such limit`],
  ];
}
