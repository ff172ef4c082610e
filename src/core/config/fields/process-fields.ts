/** Fields of a process. */
import {
  boolean,
  enumeration,
  integer,
  optional as kept,
  list,
  literal,
  map,
  number,
  object,
  string,
  union,
} from "../../base/schema.ts";
import { KILL_MODES, RELOAD_SIGNALS, STOP_SIGNALS, SUCCESS_SIGNALS } from "../../base/signals.ts";
import { IO_CLASSES } from "../../contract/limits.ts";
import {
  account,
  dependency,
  envFile,
  envValue,
  health,
  input,
  ioNice,
  ready,
  ulimits,
  watcher,
} from "../spec-parts.ts";
import { CLUSTER, OWN_PORT } from "./cluster-fields.ts";
import { dependencyType } from "./dependency-fields.ts";
import { ENVIRONMENT } from "./environment-fields.ts";
import {
  amount,
  cron,
  type Field,
  type Fields,
  file,
  flag,
  listOf,
  matching,
  millisecondsType,
  name,
  nameOrNames,
  notEmpty,
  objectOf,
  oneOrMore,
  optional,
  secondsType,
  sizeAs,
  wholeNumber,
} from "./field.ts";
import { HOOKS } from "./hook-fields.ts";
import { SLEEP } from "./idle-fields.ts";
import { PROCESS_LOGGER } from "./logger-fields.ts";
import { HEALTH, READY } from "./probe-fields.ts";
import { SCALE_FIELD } from "./scale-fields.ts";
import { ULIMITS } from "./ulimit-fields.ts";
import { WATCHER } from "./watcher-fields.ts";

const CLASSES = '"realtime", "best-effort" or "idle"';
const IO_NICE = {
  class: {
    type: enumeration(IO_CLASSES, { allowed: CLASSES }),
    description:
      "realtime (needs root): ahead of all others; best-effort: by level, as without ioNice; idle: only when no other process needs the disk.",
  },
  level: {
    type: optional(wholeNumber(0, 7, "a whole number from 0 (first) to 7 (last)")),
    description: "0 is the highest priority, 7 the lowest. Not for idle.",
  },
} as const satisfies Fields;

const INHERITED = "true, false or a list of names of variables";
const INPUT = 'true, false or { "file": path }';

/** Time zone of the schedules of a process; at the top level, of all processes. */
export const TIME_ZONE = {
  type: optional(notEmpty("the name of a time zone")),
  description: "Time zone of cron and terminate, such as Europe/Berlin. Default: the top level's.",
  onChange: "live",
} as const satisfies Field;

const memory = sizeAs(
  'a size such as "500MB" or "2GiB", or a whole number of bytes, more than 0; leave it out where there is no limit',
);
const EXIT_CODES = 'a list of exit codes from 0 to 255 and names of signals, as [75, "SIGTERM"]';
const EXIT_CODE = "an exit code from 0 to 255, or one of SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE and SIGKILL";
const exitCode = union([wholeNumber(0, 255, EXIT_CODE), enumeration(SUCCESS_SIGNALS, { allowed: EXIT_CODE })], {
  allowed: EXIT_CODE,
});
/** Node starts no program as a user or group of a greater number. */
export const MAX_ACCOUNT = 2 ** 31 - 1;
/** A name or a number. */
export const accountBranches = (what: string) => [notEmpty(what), wholeNumber(0, MAX_ACCOUNT, what)] as const;
const accountType = (what: string) => optional(union(accountBranches(what), { allowed: `${what}, by name or number` }));

export const PROCESS = {
  id: {
    type: name,
    description: "Unique name of the process: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen.",
  },
  extends: {
    type: optional(name),
    description:
      "Id of another process, whose fields this one takes, all but id, unless it sets them itself. Objects are merged key by key; everything else is replaced, and null removes it.",
  },
  cmd: {
    type: optional(notEmpty("a command line")),
    description: "Full command line, run by /bin/sh. Exactly one of cmd and worker must be given.",
    onChange: "restart",
  },
  worker: {
    type: oneOrMore("a script"),
    description:
      "JavaScript or TypeScript module that runs in a separate Node process, or a list of the module and its arguments.",
    onChange: "restart",
  },
  node: {
    type: flag,
    description:
      "cmd is a Node program: it has a channel (process.send, and the message shutdown before it is stopped), and in a cluster its first listen uses the shared socket, or the port of the instance; behind the load balancer it sees its clients' addresses.",
    default: false,
    onChange: "restart",
    copied: kept(boolean()),
  },
  stdin: {
    type: optional(
      union(
        [
          boolean({ allowed: INPUT }),
          object({ file: { ...notEmpty("a file path"), description: "Path of the file." } }),
        ],
        { allowed: INPUT },
      ),
    ),
    description:
      'Its standard input stays open: for programs that end with their input, and for procman send. { "file": path }: it is this file, which each run opens with the rights of its user, and then ends. Without it, input is /dev/null.',
    default: false,
    onChange: "restart",
    spec: kept(input),
  },
  tty: {
    type: flag,
    description:
      "It runs on a pseudo-terminal, which takes input, too: for colors, prompts, job control and programs that fill the screen. Standard output and standard error are one stream. It needs perl.",
    default: false,
    onChange: "restart",
    copied: kept(boolean()),
  },
  cwd: {
    type: file,
    description: "Working directory; the folder of the configuration file when omitted.",
    onChange: "restart",
    spec: string(),
  },
  env: { ...ENVIRONMENT.env, onChange: "restart", spec: map(envValue) },
  envFile: { ...ENVIRONMENT.envFile, onChange: "restart", spec: kept(list(envFile)) },
  inheritEnv: {
    type: optional(
      union([boolean({ allowed: INHERITED }), listOf(notEmpty("a name of a variable"), INHERITED)], {
        allowed: INHERITED,
      }),
    ),
    description:
      "Whether it inherits procman's own environment: false: only PATH, LANG, LANGUAGE, LC_*, TZ and TERM; a list of names: these, too, with * at the end for all that begin like it; true: all of it. Default: without `user` all but the secrets that other processes and plugins name, with `user` false.",
    onChange: "restart",
    copied: kept(union([boolean(), list(string())])),
  },
  path: {
    type: oneOrMore("a folder"),
    description: "Folder or folders to append to PATH.",
    onChange: "restart",
    spec: list(string()),
  },
  pathFirst: {
    type: oneOrMore("a folder"),
    description: "Folder or folders to put in front of PATH.",
    onChange: "restart",
    spec: kept(list(string())),
  },
  pidFile: {
    type: file,
    description:
      "File that holds the process id while the process runs. Placeholders as in logger.stdout; a cluster needs {id} or {instance}.",
    onChange: "restart",
    spec: kept(string()),
  },
  timeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds that a run may last before it is terminated; 0: no limit.",
    default: 0,
    onChange: "live",
    policy: "timeoutMs",
  },
  overrun: {
    type: flag,
    description: "A scheduled start begins another run even if one is still going on.",
    default: false,
    onChange: "live",
    copied: boolean(),
  },
  logger: { type: optional(objectOf(PROCESS_LOGGER)), description: "Where the output goes.", onChange: "live" },
  autostart: {
    type: flag,
    description: "Start when procman starts.",
    default: false,
    onChange: "live",
    copied: boolean(),
  },
  task: {
    type: flag,
    description:
      "It runs to its end when it is started by hand or named by run --once: start waits for the end and shows its output. It can't be combined with autostart, cron or watch.",
    default: false,
    onChange: "live",
    copied: kept(boolean()),
  },
  cron: {
    type: cron,
    description:
      "Schedule of starts: minute, hour, day of the month, month, day of the week; with seconds in front if there are six fields.",
    onChange: "live",
    copied: kept(string()),
  },
  timeZone: { ...TIME_ZONE, spec: kept(string()) },
  catchUp: {
    type: flag,
    description:
      "A scheduled start that was missed while procman was not running runs when procman is back: once, however many were missed.",
    default: false,
    onChange: "live",
    spec: kept(literal(true)),
  },
  jitter: {
    type: secondsType,
    unit: "s",
    description:
      "Delays each scheduled start by up to this many seconds: always by the same time for a process on a host, by other times for other processes and hosts.",
    default: 0,
    onChange: "live",
    spec: kept(number()),
  },
  watch: {
    type: optional(listOf(notEmpty("a path"), 'a list of paths, such as ["src"]')),
    description:
      "Files and folders to watch, or patterns of them, such as src/**/*.html: the process starts with procman, and again whenever one of them changes.",
    onChange: "live",
    spec: list(string()),
  },
  watcher: {
    type: optional(objectOf(WATCHER)),
    description: "What counts as a change of the watched files. Default: the top level's, field by field.",
    onChange: "live",
    spec: kept(watcher),
  },
  restart: {
    type: optional(enumeration(["always", "error", "never"])),
    description:
      "When an ended process starts again: after every end, after an error, or never. Omitted: error with autostart or watch, else never.",
    onChange: "live",
  },
  successExitCodes: {
    type: optional(listOf(exitCode, EXIT_CODES)),
    description:
      "Exit codes that count as success like 0, and signals by which an end does: then the process has finished, and restart error doesn't restart it.",
    onChange: "live",
  },
  restartDelayMs: {
    type: millisecondsType,
    unit: "ms",
    description: "Milliseconds before each restart. Omitted: the first at once, then 100 doubling to 30000.",
    onChange: "live",
    policy: "restartDelayMs",
  },
  restartLimit: {
    type: optional(wholeNumber(0, Number.MAX_SAFE_INTEGER, "a whole number from 0")),
    description: "How many restarts are allowed in a row; no limit when omitted.",
    onChange: "live",
  },
  restartResetMs: {
    type: millisecondsType,
    unit: "ms",
    description: "A run that lasts this many milliseconds resets the count of restarts and the delay.",
    default: 60000,
    onChange: "live",
    policy: "restartResetMs",
  },
  minUptimeMs: {
    type: millisecondsType,
    unit: "ms",
    description:
      "A start counts as successful when the run is ready or, without ready, has lasted this many milliseconds, or has finished successfully; an instance of a cluster must have served for this time.",
    default: 1000,
    onChange: "live",
    policy: "minUptimeMs",
  },
  terminate: {
    type: cron,
    description:
      "Schedule of stops, written like cron. With restart set to always, the process restarts at these times.",
    onChange: "live",
    copied: kept(string()),
  },
  terminateGracePeriod: {
    type: secondsType,
    unit: "s",
    description:
      "Seconds to wait for a process to finish by itself, before it gets stopSignal. Default: the top level's.",
    onChange: "live",
  },
  terminateTimeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds to wait after stopSignal, before a process is killed. Default: the top level's.",
    onChange: "live",
  },
  stopSignal: {
    type: optional(enumeration(STOP_SIGNALS)),
    description: "Signal that asks the process group to exit.",
    default: "SIGTERM",
    onChange: "live",
    policy: "stopSignal",
  },
  reloadSignal: {
    type: optional(enumeration(RELOAD_SIGNALS)),
    description:
      "Signal on which the program re-reads its configuration; procman reload ID sends it to the main process.",
    onChange: "live",
    policy: "reloadSignal",
  },
  killMode: {
    type: optional(enumeration(KILL_MODES)),
    description:
      "Which processes get stopSignal: the whole process group, or the leader alone, for programs that stop their children themselves; what is left when the leader has ended is ended then.",
    default: "group",
    onChange: "live",
    policy: "killMode",
  },
  hooks: {
    type: optional(objectOf(HOOKS)),
    description:
      "Commands that run before each start and after the end of each run: beforeStart and afterStop, each a command line or an object with cmd and timeout.",
    onChange: "live",
  },
  ready: {
    type: optional(objectOf(READY)),
    description:
      "How a run becomes ready: exactly one of port, http, log, exec, fd and message. Omitted: it is ready at once.",
    onChange: "live",
    spec: kept(ready),
  },
  dependsOn: {
    type: optional(listOf(dependencyType, "a list of ids")),
    description:
      "Processes that must come up before it starts, and that are stopped after it: ids, or objects with id, condition (ready, the default; started; reachable: ready or asleep; finished; completed) and restart (true: restart it when the other was restarted).",
    onChange: "live",
    spec: kept(list(dependency)),
  },
  health: {
    type: optional(objectOf(HEALTH)),
    description: "Whether a ready run stays healthy: checked regularly by exactly one of port, http and exec.",
    onChange: "live",
    spec: kept(health),
  },
  memoryLimit: {
    type: memory,
    description:
      "A run that uses more memory than this, together with its descendants, in three checks in a row is restarted by its policy. Written like rotate.size.",
    onChange: "live",
    spec: kept(number()),
  },
  memoryMax: {
    type: memory,
    description:
      "The kernel kills a run that needs more memory than this, together with its descendants. This needs a cgroup v2 that procman may divide; elsewhere it works like memoryLimit.",
    onChange: "restart",
    spec: kept(number()),
  },
  cpuQuota: {
    type: optional(amount(1, 100 * 1_024, "percent of one core")),
    description:
      "The most CPU time that a run gets, together with its descendants: percent of one core, so 200 is two cores. This needs a cgroup v2 that procman may divide; elsewhere there is no limit.",
    onChange: "restart",
    copied: kept(number()),
  },
  ulimits: {
    type: optional(objectOf(ULIMITS)),
    description: "Limits of the process, soft and hard, like the shell's ulimit; unlimited: none.",
    onChange: "restart",
    spec: kept(ulimits),
  },
  user: {
    type: accountType("a user"),
    description: "User that it runs as, by name or number; needs root.",
    onChange: "restart",
    spec: kept(account),
  },
  group: {
    type: accountType("a group"),
    description: "Group that it runs as instead of the user's; needs root.",
    onChange: "restart",
    spec: kept(integer({ minimum: 0 })),
  },
  nice: {
    type: optional(wholeNumber(-20, 19, "a whole number from -20 (first) to 19 (last)")),
    description: "Niceness: -20 is the highest priority, 19 the lowest; below 0 needs root.",
    onChange: "restart",
    copied: kept(number()),
  },
  ioNice: {
    type: optional(objectOf(IO_NICE)),
    description: "Disk priority, where the disk scheduler supports it. Linux.",
    onChange: "restart",
    copied: kept(ioNice),
  },
  oomScoreAdjust: {
    type: optional(wholeNumber(-1_000, 1_000, "a whole number from -1000 (never killed) to 1000 (killed first)")),
    description:
      "When memory runs out, the kernel kills processes with a higher value first; below 0 needs root. Linux.",
    onChange: "restart",
    copied: kept(number()),
  },
  umask: {
    type: optional(matching(/^0?[0-7]{3}$/, 'three octal digits in quotes, such as "027"')),
    description: "Permissions that new files don't get: three octal digits.",
    onChange: "restart",
    copied: kept(string({ pattern: "^[0-7]{3,4}$" })),
  },
  groups: {
    type: nameOrNames("the name of a group, or a list of them"),
    description:
      "Groups of processes that it belongs to: group:NAME stands for all members. The Unix group is the field group.",
    onChange: "live",
    spec: kept(list(string())),
  },
  port: OWN_PORT,
  idle: SLEEP,
  cluster: {
    type: optional(objectOf(CLUSTER)),
    description: "Several instances of the process, with the ids ID-1, ID-2 and so on.",
    onChange: "restart",
  },
  scale: SCALE_FIELD,
} as const satisfies Fields;

/** What `defaults` may have: a process is told from others by its id and by what it runs. */
const { id: _id, extends: _extends, cmd: _cmd, worker: _worker, ...inheritable } = PROCESS;

export const INHERITABLE = inheritable;
