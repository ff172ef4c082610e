/** The schema of a configuration file: the fields of the top level, with those of `fields/`. */
import { enumeration, literal, map, type TypeOf, union } from "../base/schema.ts";
import { GROUP_SCOPES } from "../contract/token-claims.ts";
import { SHIPPED } from "../plugins/shipped/shipped-plugins.ts";
import { ENVIRONMENT } from "./fields/environment-fields.ts";
import {
  type Fields,
  flag,
  host,
  hostname,
  listOf,
  matching,
  name,
  notEmpty,
  objectOf,
  optional,
  port,
  secondsType,
  settings,
  strings,
  text,
} from "./fields/field.ts";
import { LOGGER } from "./fields/logger-fields.ts";
import { accountBranches, INHERITABLE, PROCESS, TIME_ZONE } from "./fields/process-fields.ts";
import { RELEASES } from "./fields/release-fields.ts";
import { WATCHER } from "./fields/watcher-fields.ts";
import { DEFAULT_NAME } from "./find-config.ts";

const origin = matching(
  /^https?:\/\/[^\s/*?#@]+$/,
  'an origin such as "https://app.example.org": no path, no slash at the end, no "*"',
);

const PLUGIN = {
  url: {
    type: notEmpty("a URL, a package or a path"),
    description: `Path of a module (./slack.js), name of a package, https address of a module with its version, or one that comes with procman: ${SHIPPED.map((name) => `procman/${name}`).join(", ")}.`,
  },
  integrity: {
    type: optional(matching(/^sha256-[A-Za-z0-9+/]{43}=$/, 'a digest as "sha256-…" in base64')),
    description: "Digest that the module of a path or an https address must have: sha256- and base64.",
  },
  options: {
    type: optional(settings("an object")),
    description: "Options of the plugin. ${NAME} and ${NAME:-default} in texts are filled in when it is started.",
  },
} as const satisfies Fields;

const TLS = {
  certificate: {
    type: notEmpty("a file path"),
    description: "PEM file with the certificate, followed by its intermediate certificates. Reloaded when it changes.",
  },
  key: {
    type: notEmpty("a file path"),
    description: "PEM file with its private key, without a passphrase. Reloaded when it changes.",
  },
} as const satisfies Fields;

const groupName = accountBranches("a Unix group");

export const API_GROUP = {
  name: {
    type: union(groupName, { allowed: "a Unix group, by name or number" }),
    description: "Unix group, by name or number.",
  },
  scopes: {
    type: optional({ minItems: 1, ...listOf(enumeration(GROUP_SCOPES), 'a list of "read" and "control"') }),
    description:
      'What its members may do, as scopes of a token: "read" is looking, "control" is starting, stopping and restarting.',
    default: ["read"],
  },
} as const satisfies Fields;

export const API = {
  hostname: {
    type: hostname,
    description: "Address that the API listens on; 0.0.0.0: all interfaces.",
    default: "127.0.0.1",
    onChange: "next-run",
  },
  port: { type: port, description: "Port of the API; any free one when omitted.", onChange: "next-run" },
  revoked: { type: strings, description: "Consumers whose tokens are refused.", default: [], onChange: "live" },
  exec: {
    type: flag,
    description:
      "Whether a token with the scope admin may execute commands with the rights and secrets of processes (procman exec). Over the Unix socket procman's own user always may.",
    default: false,
    onChange: "live",
  },
  hosts: {
    type: optional(listOf(host, "a list of host names")),
    description: "Names under which a reverse proxy serves the API, such as procman.example.org.",
    default: [],
    onChange: "next-run",
  },
  cors: {
    type: optional(listOf(origin, "a list of origins")),
    description: "Origins whose pages may call the API, such as https://app.example.org.",
    default: [],
    onChange: "next-run",
  },
  group: {
    type: optional(
      union([...groupName, objectOf(API_GROUP)], {
        allowed: "a Unix group, by name or number, or an object with name and scopes",
      }),
    ),
    description:
      "Unix group whose members may look, without a token: by a socket that procman opens for them. `scopes` lets them do more.",
    onChange: "live",
  },
  tls: {
    type: optional(objectOf(TLS)),
    description:
      "Serves the API over TLS, as https. Needed where others can reach `hostname`, unless a reverse proxy in front does it.",
    onChange: "next-run",
  },
  insecure: {
    type: flag,
    description:
      "Set this if exposing `hostname` without TLS is intended: a reverse proxy in front serves the API as https.",
    default: false,
  },
} as const satisfies Fields;

export const TOP = {
  $schema: { type: optional(text), description: "Address of this schema, for editors." },
  name: {
    type: optional(name),
    description:
      "Name of the configuration: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. Names the folder .procman/NAME.",
    default: DEFAULT_NAME,
    onChange: "next-run",
  },
  processes: {
    type: listOf(
      objectOf(PROCESS, { description: "A process: what to run, when it starts, and what happens when it ends." }),
      "a list of processes",
    ),
    description: "The processes.",
  },
  defaults: {
    type: optional(objectOf(INHERITABLE, { allowed: "an object with fields of a process" })),
    description:
      "Fields of all processes, unless a process sets them itself: all but id, cmd, worker and extends. Objects are merged key by key; everything else is replaced, and null removes it.",
  },
  include: {
    type: optional(listOf(notEmpty("a file or a pattern"), "a list of files and patterns")),
    description:
      "More files with processes: paths relative to the folder of this file, with * ? [ab] {a,b} in names, such as conf.d/*.jsonc.",
  },
  logger: {
    type: optional(objectOf(LOGGER)),
    description: "Global logger settings, and the defaults for each process.",
  },
  env: {
    ...ENVIRONMENT.env,
    description: "Environment variables of all processes; `env` of a process overrides them.",
  },
  envFile: { ...ENVIRONMENT.envFile, description: "Env files of all processes, read before those of a process." },
  timeZone: {
    type: TIME_ZONE.type,
    description: "Time zone of all schedules, such as Europe/Berlin. Default: that of the host.",
  },
  portRange: {
    type: optional(matching(/^\d{1,5}-\d{1,5}$/, 'two ports, such as "20000-23999"')),
    description:
      'Where the ports of "auto" are searched. The default is above the ports of most servers, and below those that Linux and macOS give to connections.',
    default: "20000-23999",
  },
  watcher: {
    type: optional(objectOf(WATCHER)),
    description: "Settings of the file watcher. A process may override them.",
    onChange: "live",
  },
  profiles: {
    type: optional(
      map(settings("an object, a part of the configuration"), {
        propertyNames: name,
        allowed: "an object of names and parts",
      }),
    ),
    description:
      "Parts of a configuration by name; `--profile NAME` merges one over the rest: objects key by key, processes by their id; everything else is replaced.",
  },
  releases: {
    type: optional(objectOf(RELEASES)),
    description: "How `procman deploy` makes a release and switches to it.",
    onChange: "live",
  },
  plugins: {
    type: optional(listOf(objectOf(PLUGIN, { description: "A plugin." }), "a list of plugins")),
    description: "Plugins to load, each in a separate thread.",
    onChange: "live",
  },
  api: {
    type: optional(
      union([literal(false), objectOf(API)], {
        allowed: "false, or an object with hostname, port, revoked, exec, cors, hosts, group, tls and insecure",
      }),
    ),
    description:
      "The REST API; false: no port, only the Unix socket for procman's commands and programs of the same user.",
    onChange: "next-run",
  },
  terminateGracePeriod: {
    type: secondsType,
    unit: "s",
    description:
      "Seconds to wait for a process to finish by itself, before it gets stopSignal. The default for all processes.",
    default: 0,
  },
  terminateTimeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds to wait after stopSignal, before a process is killed. The default for all processes.",
    default: 30,
  },
} as const satisfies Fields;

export const configuration = objectOf(TOP, { description: "Configuration of procman." });

/** A configuration as written in the file. */
export type RawConfig = TypeOf<typeof configuration>;
export type RawPlugin = NonNullable<RawConfig["plugins"]>[number];
export type RawProcess = RawConfig["processes"][number];
export type RawEnvValue = NonNullable<RawConfig["env"]>[string];
export type RawEnvFile = Exclude<NonNullable<RawConfig["envFile"]>, readonly unknown[]>;
export type RawApi = Exclude<NonNullable<RawConfig["api"]>, false>;
export type RawReleases = NonNullable<RawConfig["releases"]>;
export type RawLogger = NonNullable<RawConfig["logger"]>;
export type RawProcessLogger = NonNullable<RawProcess["logger"]>;
export type RawRotation = Exclude<RawProcessLogger["rotate"], undefined>;
