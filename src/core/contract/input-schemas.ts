/** Schemas of request bodies. Their types are in `generated/records.ts`. */
import {
  enumeration,
  integer,
  type JsonSchema,
  list,
  map,
  number,
  object,
  optional,
  type Schema,
  string,
  time,
} from "../base/schema.ts";
import { KILL_MODES, SIGNALS } from "../base/signals.ts";
import { SEVERITIES } from "./records.ts";
import { SCOPES } from "./token-claims.ts";

/** The same limit as in the configuration. */
export const MAX_INSTANCES = 1_024;

const bytes = number({ minimum: 0, description: "Bytes." });
const idSchema = (description: string): Schema<string> => string({ minLength: 1, maxLength: 80, description });

export const LOG_SUBMISSION = object(
  {
    text: string({ maxLength: 65_536, description: "What happened." }),
    severity: optional(enumeration(SEVERITIES, { default: "info" })),
    process: optional(idSchema("The process it is about; with a process's own token always itself.")),
  },
  { description: "An entry for the log." },
);

const instances: Schema<number | "max" | "auto"> = {
  oneOf: [integer({ minimum: 1, maximum: MAX_INSTANCES }), { const: "max" }, { const: "auto" }],
  description:
    'The number; `"max"`: one for each processor. A cluster with `scale` keeps it, whatever its load is, until `"auto"`.',
};

export const SCALING = object(
  {
    instances: optional(instances),
    by: optional(
      integer({
        minimum: -MAX_INSTANCES,
        maximum: MAX_INSTANCES,
        description: "The change of the number; below 0: fewer.",
      }),
    ),
  },
  { description: "Number of instances of a cluster: `instances`, or `by`." },
);

const signal: Schema<string | number> = {
  oneOf: [string({ minLength: 1, maxLength: 40 }), integer({ minimum: 1, maximum: 64 })],
  description:
    "Name, with or without SIG, or number; `reload`: the `reloadSignal` of the process, to its main process.",
};

const ANY_CASE = SIGNALS.map((name) =>
  [...name.slice("SIG".length)]
    .map((letter) => (/\d/.test(letter) ? letter : `[${letter}${letter.toLowerCase()}]`))
    .join(""),
);
/** The numbers of `SIGNALS` on Linux; macOS has 16 and 30, and neither 7 nor 29. */
const NUMBERS = [
  integer({ minimum: 1, maximum: 15 }),
  integer({ minimum: 17, maximum: 29 }),
  integer({ minimum: 31, maximum: 31 }),
];

/** The same for the OpenAPI document: what is taken, on Linux. */
export const EXACT_SIGNAL: JsonSchema = {
  ...signal,
  oneOf: [
    string({
      pattern: `^(?:(?:[Ss][Ii][Gg])?(?:${ANY_CASE.join("|")})|reload|0{0,30}(?:[1-9]|1[0-57-9]|2\\d|31))$`,
      maxLength: 40,
    }),
    ...NUMBERS,
  ],
};

export const SIGNALLING = object(
  {
    signal,
    to: optional(
      enumeration(KILL_MODES, {
        description:
          "The process group of each run, or its main process alone. Absent: by the `killMode` of the process.",
      }),
    ),
  },
  { description: "A signal." },
);

/** Bytes in base64. */
export const BASE64 = "^[A-Za-z0-9+/]*={0,2}$";

export const PROCESS_INPUT = object(
  {
    text: optional(
      string({
        description:
          "Text, to which nothing is added: a line ends with its own `\\n`, which is the key Enter on a terminal (`tty`).",
      }),
    ),
    data: optional(string({ pattern: BASE64, description: "Bytes in base64, in place of `text`." })),
    size: optional(
      object(
        { rows: integer({ minimum: 1, maximum: 10_000 }), columns: integer({ minimum: 1, maximum: 10_000 }) },
        { description: "Size of the window: the terminal of a process with `tty` gets it before the input." },
      ),
    ),
  },
  { description: "Input for a process: `text`, or `data`." },
);

export const SIGN_IN_ORDER = object(
  {
    scopes: optional(
      list(enumeration(SCOPES), {
        minItems: 1,
        description: "Scopes of the token. Default: all; `input` only if the token that asks has it.",
      }),
    ),
  },
  { description: "What the token of a one-time code may do." },
);

export const SIGN_IN_EXCHANGE = object(
  { code: string({ minLength: 1, maxLength: 100, description: "The code of the link." }) },
  { description: "A one-time code." },
);

export const TELEMETRY_REPORT = object(
  {
    process: idSchema("Id of a process or an instance."),
    memory: object({ rss: bytes, heapTotal: bytes, heapUsed: bytes, external: bytes }),
    cwd: string({ maxLength: 4_096, description: "Its working directory." }),
    sent: time({ maxLength: 40, description: "When it was sent." }),
    metrics: optional(
      map(number(), { maxProperties: 200, propertyNames: string({ maxLength: 100 }), description: "Custom numbers." }),
    ),
  },
  { description: "Report of a process about itself." },
);
