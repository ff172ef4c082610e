/** Fields of `logger`, of a process and of the top level. */
import { enumeration, literal, union } from "../../base/schema.ts";
import { SEVERITIES } from "../../contract/records.ts";
import { amount, type Fields, file, flag, listOf, notEmpty, objectOf, optional, size } from "./field.ts";

export const ROTATION = {
  size: {
    type: size,
    description:
      "A file is rotated before it would grow beyond this: bytes, or a text such as 500MB (powers of 1000) or 500MiB (powers of 1024).",
    default: "500MB",
  },
  hours: {
    type: optional(amount(0, 8784, "hours")),
    unit: "h",
    description: "A file that has been written to for this many hours is rotated; 0: never by age.",
    default: 0,
  },
  total: {
    type: size,
    description: "Limit for all rotated files together; the oldest are removed first. Written like size.",
    default: "2GB",
  },
  gzip: { type: flag, description: "Compress rotated files.", default: true },
} as const satisfies Fields;

export const PROCESS_LOGGER = {
  console: { type: flag, description: "Print the output on procman's own output.", default: false },
  stdout: {
    type: file,
    description:
      "File for standard output; a relative path resolves from the folder of the configuration file. {name}, {id}, {process} and {instance} stand for the name of the configuration, the id of the process or instance, the id of the process alone, and the number of the instance from 1.",
  },
  stderr: {
    type: file,
    description: "File for standard error, as for stdout. When omitted, standard error goes to the stdout file.",
  },
  decorateFiles: { type: flag, description: "Write time and id in front of each line in files.", default: false },
  rotate: {
    type: optional(
      union([literal(false), objectOf(ROTATION)], { allowed: "false, or an object with size, hours, total and gzip" }),
    ),
    description: "When a log file is closed, renamed and compressed; false: never.",
  },
} as const satisfies Fields;

const LEVEL_RULE = {
  prefix: { type: optional(notEmpty("a text")), description: "The line begins with this text." },
  regex: {
    type: optional(notEmpty("a regular expression")),
    description:
      "A part of the line matches this regular expression (RE2). Without `severity` its first group is the name of the level.",
  },
  severity: { type: optional(enumeration(SEVERITIES)), description: "The severity of such lines." },
} as const satisfies Fields;

export const LOGGER = {
  ...PROCESS_LOGGER,
  decorate: {
    type: flag,
    description: "Write time and id in front of each line on the console.",
    default: false,
    onChange: "live",
  },
  colors: {
    type: flag,
    description:
      "Colors on the console, where it is a terminal; programs with their output there alone get FORCE_COLOR. Also with run --console.",
    default: false,
    onChange: "live",
  },
  format: {
    type: optional(enumeration(["text", "json"])),
    description:
      "json: each line of the console is a JSON object with time (UTC), process, severity, category (stdout, stderr, lifecycle, …) and text, as of `procman logs --json`; for log collectors.",
    default: "text",
    onChange: "live",
  },
  prefix: {
    type: flag,
    description:
      "false: the lines of the processes are printed on the console as they wrote them, without id and in no format.",
    default: true,
    onChange: "live",
  },
  internalLogHours: {
    type: optional(amount(0, 366, "hours")),
    unit: "h",
    description: "Hours for which procman keeps its own logs and metrics, for `procman logs`; 0 keeps none.",
    default: 24,
    onChange: "live",
  },
  internalLogSize: {
    type: size,
    description: "Limit for these logs; the oldest are removed first. Written like rotate.size.",
    default: "1GB",
    onChange: "live",
  },
  levels: {
    type: optional(
      union([literal(false), listOf(objectOf(LEVEL_RULE, { description: "A rule." }), "a list of rules")], {
        allowed: "false, or a list of rules with prefix or regex, and severity",
      }),
    ),
    description:
      "Rules for lines that say their severity otherwise than by JSON or <N>, the first that fits. false: the severity of output is that of its stream.",
    onChange: "live",
  },
} as const satisfies Fields;
