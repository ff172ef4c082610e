/**
 * What a service may ask of keeper and logger, as schemas: both go on when a service with a fault asks for something
 * else. Further members are ignored, as a newer service may have them.
 */
import type { Inheritance } from "../base/inherited-variables.ts";
import { messagesIn } from "../base/messages.ts";
import {
  anything,
  boolean,
  enumeration,
  integer,
  list,
  map,
  number,
  openObject,
  optional,
  type Schema,
  schemaFor,
  string,
} from "../base/schema.ts";
import { matches, violations } from "../base/schema-check.ts";
import { LEVEL_RULES } from "../contract/levels.ts";
import { CATEGORIES, SEVERITIES } from "../contract/records.ts";
import type { Listening, SpawnRequest, ToKeeper } from "./keeper-protocol.ts";
import type { CaptureSpec, ConsoleStyle, LoggerMessage, Rotation, StoreSettings, ToLogger } from "./logger-protocol.ts";

/** End of the year 9999. Milliseconds. */
const LATEST = 253_402_300_799_999;

const amount = number({ minimum: 0 });
const run = { slot: string({ minLength: 1 }), run: integer({ minimum: 0 }) };
const t = anything as Schema<never>;

const LISTENING = schemaFor<Listening>({ hostname: string(), port: integer({ minimum: 0, maximum: 65_535 }) });

const CAPTURE = schemaFor<CaptureSpec>({
  id: string(),
  console: boolean(),
  stdout: optional(string()),
  stderr: optional(string()),
  decorateFiles: boolean(),
  sharedFiles: optional(list(string())),
  rotation: optional(schemaFor<Rotation>({ sizeBytes: amount, ageMs: amount, totalBytes: amount, gzip: boolean() })),
  store: optional(openObject({ run: integer(), instance: optional(integer()) })),
});

const DESCRIPTOR = openObject({ fd: integer({ minimum: 3, maximum: 1_023 }), file: string({ minLength: 1 }) });

const SPAWN = {
  ...run,
  argv: list(string(), { minItems: 1 }),
  cwd: string(),
  env: map(string()),
  inherit: optional(schemaFor<Inheritance>({ only: optional(list(string())), without: optional(list(string())) })),
  capture: optional(CAPTURE),
  as: optional(openObject({ uid: optional(integer({ minimum: 0 })), gid: optional(integer({ minimum: 0 })) })),
  stdin: optional(string({ minLength: 1 })),
  notify: optional(DESCRIPTOR),
  clients: optional(DESCRIPTOR),
  screen: optional(DESCRIPTOR),
  listen: optional(LISTENING),
  memoryMax: optional(amount),
  cpuQuota: optional(amount),
  channel: optional(anything as Schema<true>),
  farewell: optional(string() as Schema<"shutdown">),
} satisfies Record<keyof SpawnRequest, unknown>;

const SIGNAL = { ...run, signal: string({ minLength: 1 }), to: optional(string()) };

const LOGGER: Readonly<Partial<Record<ToLogger["t"], Schema>>> = {
  release: openObject({ keys: list(string()) }),
  style: openObject({
    style: schemaFor<ConsoleStyle>({
      decorate: boolean(),
      colors: boolean(),
      format: optional(string() as Schema<"json">),
      reader: optional(string() as Schema<"terminal">),
      prefix: optional(boolean() as Schema<false>),
      file: optional(string()),
    }),
    store: optional(schemaFor<StoreSettings>({ hours: amount, bytes: amount, levels: optional(LEVEL_RULES) })),
    idWidth: optional(integer({ minimum: 0, maximum: 1_000 })),
    releases: optional(boolean()),
  }),
  say: schemaFor<LoggerMessage>({
    t,
    at: number({ minimum: 0, maximum: LATEST }),
    severity: enumeration(SEVERITIES),
    id: optional(string()),
    text: string(),
    category: optional(enumeration(CATEGORIES)),
    instance: optional(integer()),
    run: optional(integer()),
    isQuiet: optional(boolean() as Schema<true>),
    receipt: optional(integer()),
    isAgain: optional(boolean() as Schema<true>),
  }),
  flush: openObject({ receipt: integer(), files: list(string()), store: boolean() }),
};

const KEEPER: Readonly<Record<Exclude<ToKeeper["t"], "logger">, Schema>> = {
  open: openObject({
    protocol: integer(),
    version: string(),
    stateDir: string({ minLength: 1 }),
    file: optional(string()),
    captures: integer({ minimum: 0 }),
    uids: optional(map(integer())),
  }),
  ready: openObject({ problem: optional(string()) }),
  aside: anything,
  spawn: openObject(SPAWN),
  prepare: openObject({ ...SPAWN, after: string() }),
  unprepare: openObject(run),
  signal: openObject(SIGNAL),
  drain: openObject(SIGNAL),
  note: openObject({ id: string(), note: string() }),
  route: openObject({ ...run, capture: CAPTURE }),
  ack: openObject(run),
  sync: openObject({ number: integer() }),
  balancer: openObject({ wanted: boolean() }),
  listening: openObject({ address: optional(string()) }),
  sockets: openObject({ wanted: list(LISTENING) }),
  copy: openObject({ listening: LISTENING }),
  pong: anything,
  stopping: anything,
  end: openObject({ code: integer({ minimum: 0, maximum: 255 }) }),
};

/** Why this is not a request of a service to the keeper; undefined: it is one. */
export function requestProblem(message: ToKeeper): string | undefined {
  if (message.t !== "logger") return problemIn(message, KEEPER);
  const [told] = messagesIn<ToLogger>([message.message]);
  return told === undefined ? "it has no message for the logger" : problemIn(told, LOGGER);
}

/** A type without a schema is no problem: keeper and logger ignore a type that they don't know. */
function problemIn(message: { readonly t: string }, schemas: Readonly<Record<string, Schema>>): string | undefined {
  const schema = Object.hasOwn(schemas, message.t) ? schemas[message.t] : undefined;
  if (schema === undefined || matches(message, schema)) return undefined;
  const [fault] = violations(message, schema, 1);
  return `its ${fault?.path.join(".") || "form"} is not as it must be (${fault?.keyword})`;
}
