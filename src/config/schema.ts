/**
 * The shape of a configuration file. The text given to each type says what is allowed, in words that
 * follow "allowed:"; what a field means is in `fields.ts`, which the running service never loads.
 */
import * as z from "zod/mini";
import { STOP_SIGNALS } from "../base/stop-signals.ts";
import { STRATEGIES } from "../contract/balancer-protocol.ts";
import type { ULIMITS } from "../contract/limits.ts";
import { CONDITIONS } from "../supervisor/plan.ts";
import { AMOUNT_PATTERN, MOST_MS, MOST_SECONDS, SIZE_PATTERN } from "./units.ts";

const optional = z.optional;
const object = <T extends z.core.$ZodLooseShape>(shape: T) => z.strictObject(shape, "an object");
const list = <T extends z.core.SomeType>(item: T, allowed: string) => z.array(item, allowed);
const matching = (pattern: RegExp, allowed: string) => z.string(allowed).check(z.regex(pattern, allowed));
const text = (what: string) => matching(/^(?=[\s\S]*\S)[^\0]+$/, `${what}, not empty`);

const whole = (least: number, most: number, allowed: string) => z.int(allowed).check(z.minimum(least, allowed), z.maximum(most, allowed));

const amount = (least: number, most: number, unit: string) => {
  const allowed = `a number of ${unit} from ${least} to ${most}`;
  return z.number(allowed).check(z.minimum(least, allowed), z.maximum(most, allowed));
};

const oneOrMore = (what: string) => {
  const item = text(what);
  return optional(
    z.union([item, list(item, "a list of strings").check(z.minLength(1, "at least one entry"))], `${what}, or a list of such`),
  );
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

// Made once and shared: making them is most of what loading this module costs.
const name = matching(NAME_PATTERN, NAME);
const flag = optional(z.boolean("true or false"));
const file = optional(text("a file path"));
const cron = optional(text("a cron pattern"));
const string = z.string("a string");
const strings = optional(list(string, "a list of strings"));
const port = optional(whole(1, 65_535, "a whole number from 1 to 65535"));
const seconds = optional(amount(0, MOST_SECONDS, "seconds"));
const milliseconds = optional(amount(0, MOST_MS, "milliseconds"));
const sizeAs = (allowed: string) =>
  optional(z.union([matching(AMOUNT_PATTERN, allowed), whole(1, Number.MAX_SAFE_INTEGER, allowed)], allowed));
const size = sizeAs(SIZE);
const memory = sizeAs(MEMORY);

const rotation = object({ size, hours: optional(amount(0, 8784, "hours")), total: size, gzip: flag });
const rotate = optional(z.union([z.literal(false), rotation], "false, or an object with size, hours, total and gzip"));
const processLogger = { console: flag, stdout: file, stderr: file, decorateFiles: flag, rotate };
const globalLogger = {
  ...processLogger,
  decorate: flag,
  colors: flag,
  internalLogHours: optional(amount(0, 366, "hours")),
  internalLogSize: size,
};

const probe = {
  port: optional(z.union([whole(1, 65_535, PROBE_PORT), z.literal("{port}")], PROBE_PORT)),
  http: optional(text("an address")),
  exec: optional(text("a command line")),
};
const ready = object({
  ...probe,
  log: optional(text("a regular expression")),
  fd: optional(whole(3, 9, "a whole number from 3 to 9")),
  timeout: optional(amount(0.001, MOST_SECONDS, "seconds")),
});
const limit = optional(
  z.union([matching(SIZE_PATTERN, LIMIT_SIZE), whole(0, Number.MAX_SAFE_INTEGER, LIMIT_SIZE), z.literal("unlimited")], LIMIT_SIZE),
);
const limitCount = optional(z.union([whole(0, Number.MAX_SAFE_INTEGER, LIMIT_COUNT), z.literal("unlimited")], LIMIT_COUNT));
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
const account = (what: string) => optional(z.union([text(what), whole(0, 2 ** 32 - 2, what)], `${what}, by name or number`));

const health = object({
  ...probe,
  interval: optional(amount(0.1, MOST_SECONDS, "seconds")),
  timeout: optional(amount(0.001, MOST_SECONDS, "seconds")),
  failures: optional(whole(1, 1_000, "a whole number from 1 to 1000")),
  startPeriod: seconds,
});

const cluster = object({
  instances: z.union([whole(1, 1024, INSTANCES), z.literal("max")], INSTANCES),
  startPort: port,
  commonPort: port,
  mode: optional(z.enum(["balance", "share"])),
  strategy: optional(z.enum(STRATEGIES)),
  hostname: optional(text("an address")),
  proxyProtocol: flag,
  idleTimeout: seconds,
  maxConnections: optional(whole(1, 100_000, "a whole number from 1 to 100000")),
});

const VALUE = 'a string, { "file": path } or { "env": name }';

const environment = z.record(
  matching(/^[^=\0]+$/, 'a name of a variable, without "="'),
  z.union([matching(/^[^\0]*$/, VALUE), object({ file: text("a file path") }), object({ env: text("a name of a variable") })], VALUE),
  "an object of names and values",
);

const dependency = object({ id: name, condition: optional(z.enum(CONDITIONS)), restart: flag });

const processShape = object({
  id: name,
  cmd: optional(text("a command line")),
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
  watch: optional(list(text("a path"), 'a list of paths, as ["src"]')),
  restart: optional(z.enum(["always", "error"])),
  restartDelayMs: milliseconds,
  restartLimit: optional(whole(0, Number.MAX_SAFE_INTEGER, "a whole number from 0")),
  restartResetMs: milliseconds,
  terminate: cron,
  terminateGracePeriod: seconds,
  terminateTimeout: seconds,
  stopSignal: optional(z.enum(STOP_SIGNALS)),
  ready: optional(ready),
  dependsOn: optional(list(z.union([name, dependency], "an id, or an object with id, condition and restart"), "a list of ids")),
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
  url: text("a URL, a package or a path"),
  integrity: optional(matching(/^sha256-[A-Za-z0-9+/]{43}=$/, 'a digest as "sha256-…" in base64')),
  options: optional(z.record(string, z.unknown(), "an object")),
});

const origin = matching(/^https?:\/\/[^\s/*?#@]+$/, 'an origin as "https://app.example.org": no path, no slash at the end, no "*"');

export const configuration = object({
  $schema: optional(string),
  name: optional(name),
  processes: list(processShape, "a list of processes"),
  logger: optional(object(globalLogger)),
  watcher: optional(object({ interval: optional(amount(1, MOST_MS, "milliseconds")), exts: strings, match: strings, skip: strings })),
  profiles: optional(
    z.record(name, z.record(string, z.unknown(), "an object, a part of the configuration"), "an object of names and parts"),
  ),
  plugins: optional(list(plugin, "a list of plugins")),
  api: optional(
    object({ hostname: optional(text("an address")), port, revoked: strings, cors: optional(list(origin, "a list of origins")) }),
  ),
  terminateGracePeriod: seconds,
  terminateTimeout: seconds,
});

/** The keys that an object at this place may have; none where no object is expected. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let reached: readonly z.core.SomeType[] = [configuration];
  for (const step of path) reached = reached.flatMap(unwrap).flatMap((schema) => inside(schema, step));
  return reached.flatMap(unwrap).flatMap((schema) => (schema instanceof z.ZodMiniObject ? Object.keys(schema.def.shape) : []));
}

function unwrap(schema: z.core.SomeType): readonly z.core.SomeType[] {
  if (schema instanceof z.ZodMiniOptional) return unwrap(schema.def.innerType);
  return schema instanceof z.ZodMiniUnion ? schema.def.options.flatMap(unwrap) : [schema];
}

function inside(schema: z.core.SomeType, step: PropertyKey): readonly z.core.SomeType[] {
  if (schema instanceof z.ZodMiniArray) return [schema.def.element];
  const member = schema instanceof z.ZodMiniObject ? schema.def.shape[String(step)] : undefined;
  return member === undefined ? [] : [member];
}

/** A configuration as it is written. */
export type RawConfig = z.infer<typeof configuration>;
export type RawPlugin = NonNullable<RawConfig["plugins"]>[number];
export type RawProcess = RawConfig["processes"][number];
export type RawLogger = NonNullable<RawConfig["logger"]>;
export type RawProcessLogger = NonNullable<RawProcess["logger"]>;
export type RawRotation = Exclude<RawProcessLogger["rotate"], undefined>;

/** One thing whose shape is wrong, in zod's words. */
export type Issue = z.core.$ZodIssue;

/** Checks the shape alone; what the fields mean together is in `checks.ts`. */
export function checkShape(data: unknown): { readonly config?: RawConfig; readonly issues: readonly Issue[] } {
  // Compiled validators pay off after thousands of calls; a file is checked once. Not by z.config: that is global to the program.
  const result = z.safeParse(configuration, data, { jitless: true });
  return result.success ? { config: result.data, issues: [] } : { issues: result.error.issues };
}
