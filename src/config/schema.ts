/**
 * The shape of a configuration file. The text given to each type says what is allowed, in words that
 * follow "allowed:"; what a field means is in `fields.ts`, which the running service never loads.
 */
import { STOP_SIGNALS } from "../base/stop-signals.ts";
import { STRATEGIES } from "../contract/balancer-protocol.ts";
import type { ULIMITS } from "../contract/limits.ts";
import { CONDITIONS } from "../supervisor/plan.ts";
import {
  anything,
  boolean,
  list,
  literal,
  matching,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  text,
  union,
  type ValueOf,
  whole,
  within,
} from "./shape.ts";
import { AMOUNT_PATTERN, MOST_MS, MOST_SECONDS, SIZE_PATTERN } from "./units.ts";

const notEmpty = (what: string) => matching(/^(?=[\s\S]*\S)[^\0]+$/, `${what}, not empty`);
const amount = (least: number, most: number, unit: string) => within(least, most, `a number of ${unit} from ${least} to ${most}`);

const oneOrMore = (what: string) => {
  const item = notEmpty(what);
  return optional(union([item, list(item, "a list of strings", "at least one entry")], `${what}, or a list of such`));
};

const NAME = '1 to 64 characters from a-z, 0-9, ".", "_" and "-"';
/** Not `.` and `..`: a name is a folder's name too. */
export const NAME_PATTERN: RegExp = /^(?!\.\.?$)[a-z0-9._-]{1,64}$/;
const SIZE = 'a size such as "500MB" or "2GiB", or a whole number of bytes, more than 0';
const MEMORY = `${SIZE}; leave it out where there is no limit`;
const PROBE_PORT = 'a whole number from 1 to 65535, or "{port}" (the port of an instance)';
const LIMIT_SIZE = 'a size such as "64MB", a whole number of bytes, or "unlimited"';
const LIMIT_COUNT = 'a whole number from 0, or "unlimited"';
const INSTANCES = 'a whole number from 1 to 1024, or "max" (one for each processor)';

const name = matching(NAME_PATTERN, NAME);
const flag = optional(boolean("true or false"));
const file = optional(notEmpty("a file path"));
const cron = optional(notEmpty("a cron pattern"));
const string = text("a string");
const strings = optional(list(string, "a list of strings"));
const port = optional(whole(1, 65_535, "a whole number from 1 to 65535"));
const seconds = optional(amount(0, MOST_SECONDS, "seconds"));
const milliseconds = optional(amount(0, MOST_MS, "milliseconds"));
const sizeAs = (allowed: string) =>
  optional(union([matching(AMOUNT_PATTERN, allowed), whole(1, Number.MAX_SAFE_INTEGER, allowed)], allowed));
const size = sizeAs(SIZE);
const memory = sizeAs(MEMORY);

const rotation = object({ size, hours: optional(amount(0, 8784, "hours")), total: size, gzip: flag });
const rotate = optional(union([literal(false), rotation], "false, or an object with size, hours, total and gzip"));
const processLogger = { console: flag, stdout: file, stderr: file, decorateFiles: flag, rotate };
const globalLogger = {
  ...processLogger,
  decorate: flag,
  colors: flag,
  internalLogHours: optional(amount(0, 366, "hours")),
  internalLogSize: size,
};

const probe = {
  port: optional(union([whole(1, 65_535, PROBE_PORT), literal("{port}")], PROBE_PORT)),
  http: optional(notEmpty("an address")),
  exec: optional(notEmpty("a command line")),
};
const ready = object({
  ...probe,
  log: optional(notEmpty("a regular expression")),
  fd: optional(whole(3, 9, "a whole number from 3 to 9")),
  timeout: optional(amount(0.001, MOST_SECONDS, "seconds")),
});
const limit = optional(
  union([matching(SIZE_PATTERN, LIMIT_SIZE), whole(0, Number.MAX_SAFE_INTEGER, LIMIT_SIZE), literal("unlimited")], LIMIT_SIZE),
);
const limitCount = optional(union([whole(0, Number.MAX_SAFE_INTEGER, LIMIT_COUNT), literal("unlimited")], LIMIT_COUNT));
const ulimits = object({
  as: limit,
  core: limit,
  cpu: limitCount,
  data: limit,
  fsize: limit,
  memlock: limit,
  nofile: limitCount,
  nproc: limitCount,
  stack: limit,
} satisfies Record<(typeof ULIMITS)[number], unknown>);
const account = (what: string) => optional(union([notEmpty(what), whole(0, 2 ** 32 - 2, what)], `${what}, by name or number`));

const health = object({
  ...probe,
  interval: optional(amount(0.1, MOST_SECONDS, "seconds")),
  timeout: optional(amount(0.001, MOST_SECONDS, "seconds")),
  failures: optional(whole(1, 1_000, "a whole number from 1 to 1000")),
  startPeriod: seconds,
});

const cluster = object({
  instances: union([whole(1, 1024, INSTANCES), literal("max")], INSTANCES),
  startPort: port,
  commonPort: port,
  mode: optional(oneOf(["balance", "share"])),
  strategy: optional(oneOf(STRATEGIES)),
  hostname: optional(notEmpty("an address")),
  proxyProtocol: flag,
  idleTimeout: seconds,
  maxConnections: optional(whole(1, 100_000, "a whole number from 1 to 100000")),
});

const VALUE = 'a string, { "file": path } or { "env": name }';

const environment = record(
  matching(/^[^=\0]+$/, 'a name of a variable, without "="'),
  union([matching(/^[^\0]*$/, VALUE), object({ file: notEmpty("a file path") }), object({ env: notEmpty("a name of a variable") })], VALUE),
  "an object of names and values",
);

const dependency = object({ id: name, condition: optional(oneOf(CONDITIONS)), restart: flag });

const processShape = object({
  id: name,
  cmd: optional(notEmpty("a command line")),
  worker: oneOrMore("a script"),
  cwd: file,
  env: optional(environment),
  envFile: oneOrMore("a file path"),
  path: oneOrMore("a folder"),
  pidFile: file,
  timeout: seconds,
  overrun: flag,
  logger: optional(object(processLogger)),
  autostart: flag,
  cron,
  watch: optional(list(notEmpty("a path"), 'a list of paths, as ["src"]')),
  restart: optional(oneOf(["always", "error"])),
  restartDelayMs: milliseconds,
  restartLimit: optional(whole(0, Number.MAX_SAFE_INTEGER, "a whole number from 0")),
  restartResetMs: milliseconds,
  terminate: cron,
  terminateGracePeriod: seconds,
  terminateTimeout: seconds,
  stopSignal: optional(oneOf(STOP_SIGNALS)),
  ready: optional(ready),
  dependsOn: optional(list(union([name, dependency], "an id, or an object with id, condition and restart"), "a list of ids")),
  health: optional(health),
  memoryLimit: memory,
  memoryMax: memory,
  ulimits: optional(ulimits),
  user: account("a user"),
  group: account("a group"),
  nice: optional(whole(-20, 19, "a whole number from -20 (first) to 19 (last)")),
  umask: optional(matching(/^0?[0-7]{3}$/, 'three octal digits in quotes, as "027"')),
  cluster: optional(cluster),
});

const plugin = object({
  url: notEmpty("a URL, a package or a path"),
  integrity: optional(matching(/^sha256-[A-Za-z0-9+/]{43}=$/, 'a digest as "sha256-…" in base64')),
  options: optional(record(string, anything, "an object")),
});

const origin = matching(/^https?:\/\/[^\s/*?#@]+$/, 'an origin as "https://app.example.org": no path, no slash at the end, no "*"');

export const configuration = object({
  $schema: optional(string),
  name: optional(name),
  processes: list(processShape, "a list of processes"),
  logger: optional(object(globalLogger)),
  watcher: optional(object({ interval: optional(amount(1, MOST_MS, "milliseconds")), exts: strings, match: strings, skip: strings })),
  profiles: optional(record(name, record(string, anything, "an object, a part of the configuration"), "an object of names and parts")),
  plugins: optional(list(plugin, "a list of plugins")),
  api: optional(
    object({ hostname: optional(notEmpty("an address")), port, revoked: strings, cors: optional(list(origin, "a list of origins")) }),
  ),
  terminateGracePeriod: seconds,
  terminateTimeout: seconds,
});

/** The keys that an object at this place may have; none where no object is expected. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let reached: readonly Shape[] = [configuration];
  for (const step of path) reached = reached.flatMap(branchesOf).flatMap((shape) => inside(shape, step));
  return reached.flatMap(branchesOf).flatMap((shape) => (shape.kind === "object" ? Object.keys(shape.members) : []));
}

function branchesOf(shape: Shape): readonly Shape[] {
  if (shape.kind === "optional") return branchesOf(shape.inner);
  return shape.kind === "union" ? shape.branches.flatMap(branchesOf) : [shape];
}

function inside(shape: Shape, step: PropertyKey): readonly Shape[] {
  if (shape.kind === "list") return [shape.item];
  const member = shape.kind === "object" ? shape.members[String(step)] : undefined;
  return member === undefined ? [] : [member];
}

/** A configuration as it is written. */
export type RawConfig = ValueOf<typeof configuration>;
export type RawPlugin = NonNullable<RawConfig["plugins"]>[number];
export type RawProcess = RawConfig["processes"][number];
export type RawLogger = NonNullable<RawConfig["logger"]>;
export type RawProcessLogger = NonNullable<RawProcess["logger"]>;
export type RawRotation = Exclude<RawProcessLogger["rotate"], undefined>;
