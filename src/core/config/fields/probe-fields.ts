/** Fields of `ready` and `health`. */
import { literal, union } from "../../base/schema.ts";
import { MAX_SECONDS } from "../units.ts";
import { amount, type Fields, matching, notEmpty, optional, secondsType, wholeNumber } from "./field.ts";

const PROBE_PORT =
  'a whole number from 1 to 65535, or "{port}" (its own port) or "{port:ID}" (that of another process)';
const port = optional(
  union([wholeNumber(1, 65_535, PROBE_PORT), literal("{port}"), matching(/^\{port:[a-z0-9._-]{1,64}\}$/, PROBE_PORT)], {
    allowed: PROBE_PORT,
  }),
);
const http = optional(notEmpty("an address"));
const exec = optional(notEmpty("a command line"));
const timeout = optional(amount(0.001, MAX_SECONDS, "seconds"));

export const READY = {
  port: {
    type: port,
    description:
      "The process accepts connections on this port of the loopback address; {port}: its own port, {port:ID}: that of another process.",
  },
  http: {
    type: http,
    description:
      "The process answers at this address with a status from 200 to 399; {port} and {port:ID} stand for ports.",
  },
  exec: { type: exec, description: "This command line, run like the process's cmd, ends with code 0." },
  log: {
    type: optional(notEmpty("a regular expression")),
    description: "A line of its output matches this regular expression.",
  },
  fd: {
    type: optional(wholeNumber(3, 9, "a whole number from 3 to 9")),
    description: "The process writes to this file descriptor, which is open when it starts.",
    onChange: "restart",
  },
  message: {
    type: optional(literal(true)),
    description: 'The process sends the message "ready" by process.send. For workers, and programs with "node": true.',
    onChange: "restart",
  },
  timeout: {
    type: timeout,
    unit: "s",
    description: "A run that is not ready after this many seconds is stopped, which counts as an error.",
    default: 30,
  },
} as const satisfies Fields;

export const HEALTH = {
  port: { type: port, description: "Like ready.port." },
  http: { type: http, description: "Like ready.http." },
  exec: { type: exec, description: "Like ready.exec." },
  interval: {
    type: optional(amount(0.1, MAX_SECONDS, "seconds")),
    unit: "s",
    description: "Seconds from one check to the next.",
    default: 10,
  },
  timeout: { type: timeout, unit: "s", description: "Seconds to wait for an answer.", default: 5 },
  failures: {
    type: optional(wholeNumber(1, 1_000, "a whole number from 1 to 1000")),
    description: "After this many failures in a row the process is unhealthy, and is restarted by its policy.",
    default: 3,
  },
  startPeriod: {
    type: secondsType,
    unit: "s",
    description:
      "Seconds after the start of a run in which failures don't count, until a check succeeds; without ready at least minUptimeMs.",
    default: 0,
  },
} as const satisfies Fields;
