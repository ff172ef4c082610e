/** Fields of `releases`. */
import { map, type Schema, union } from "../../base/schema.ts";
import {
  amount,
  type Field,
  type Fields,
  flag,
  listOf,
  matching,
  notEmpty,
  objectOf,
  optional,
  secondsType,
  wholeNumber,
} from "./field.ts";

export const RELEASE_COMMAND = {
  cmd: { type: notEmpty("a command line"), description: "Command line, run by /bin/sh in the folder of the release." },
  timeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds after which it is ended, which counts as a failure; 0: no limit.",
    default: 600,
  },
} as const satisfies Fields;

const command = union(
  [notEmpty("a command line"), objectOf(RELEASE_COMMAND, { description: "A command with a time limit." })],
  { allowed: "a command line, or an object with cmd and timeout" },
);
const commands = (description: string) =>
  ({ type: optional(listOf(command, "a list of command lines")), description, default: [] }) as const satisfies Field;

const LIMIT = 'a number (the most that it may be) or a text such as "+0" (by how much it may grow)';
const limit: Schema<number | string> = union(
  [amount(0, Number.MAX_SAFE_INTEGER, LIMIT), matching(/^\+\d{1,15}$/, LIMIT)],
  {
    allowed: LIMIT,
  },
);
const count = optional(wholeNumber(0, 1_000_000, "a whole number from 0 to 1000000"));

export const GATE = {
  seconds: {
    type: amount(1, 86_400, "seconds"),
    unit: "s",
    description: "How long the new release is watched before the deployment is done.",
  },
  restarts: {
    type: count,
    description: "How often its processes may be restarted by their policy meanwhile, all together.",
    default: 0,
  },
  refused: {
    type: count,
    description: "How many connections its instances may refuse to the load balancer meanwhile, all together.",
  },
  metrics: {
    type: optional(map(limit, { allowed: "an object of names and limits" })),
    description: `Limits of numbers that each process of the release reports by telemetry: ${LIMIT}. A number that none of them reports fails.`,
  },
} as const satisfies Fields;

export const RELEASES = {
  folder: {
    type: optional(notEmpty("a folder")),
    description: "Folder that has a folder for each release.",
    default: "releases",
  },
  current: {
    type: optional(notEmpty("a path")),
    description: "The link that leads to the present release.",
    default: "current",
  },
  keep: {
    type: optional(wholeNumber(1, 1_000, "a whole number from 1 to 1000")),
    description:
      "How many releases are kept, the present one included. One in which something still runs is kept, too.",
    default: 5,
  },
  prepare: commands(
    "Commands that complete a new release, such as `npm ci --omit=dev`; one that fails ends the deployment.",
  ),
  before: commands(
    "Commands that run once before the switch to a new release, such as migrations; one that fails ends the deployment.",
  ),
  after: commands("Commands that run after each switch, also after one back."),
  warm: {
    type: flag,
    description:
      "Whether instances of clusters behind the load balancer stay, without clients, until the gate is over: the way back takes milliseconds. Needs their memory twice meanwhile.",
    default: false,
  },
  gate: {
    type: optional(objectOf(GATE)),
    description: "What a new release must keep to, or procman goes back. Omitted: its processes must come up.",
  },
} as const satisfies Fields;
