/** Fields of `hooks`. */
import { union } from "../../base/schema.ts";
import { type Field, type Fields, notEmpty, objectOf, optional, secondsType } from "./field.ts";

export const HOOK = {
  cmd: {
    type: notEmpty("a command line"),
    description: "Command line, run by /bin/sh with the folder, user and environment of the process.",
  },
  timeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds after which it is ended, which counts as a failure; 0: no limit.",
    default: 60,
  },
} as const satisfies Fields;

const hook = (description: string) =>
  ({
    type: optional(
      union([notEmpty("a command line"), objectOf(HOOK, { description: "A command with a time limit." })], {
        allowed: "a command line, or an object with cmd and timeout",
      }),
    ),
    description,
  }) as const satisfies Field;

export const HOOKS = {
  beforeStart: hook("Runs before each start of the process, which starts only if this ends with code 0."),
  afterStop: hook("Runs after the end of each run, before anything else happens with the process."),
} as const satisfies Fields;
