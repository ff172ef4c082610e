/** Fields of `env` and `envFile`, of a process and of the top level. */
import { boolean, map, number, object, union } from "../../base/schema.ts";
import { type Fields, flag, listOf, matching, notEmpty, objectOf, optional } from "./field.ts";

const VALUE = 'a string, a number, true or false, { "file": path } or { "env": name }';
const environment = map(
  union(
    [
      matching(/^[^\0]*$/, VALUE),
      number({ allowed: VALUE }),
      boolean({ allowed: VALUE }),
      object({ file: notEmpty("a file path") }),
      object({ env: notEmpty("a name of a variable") }),
    ],
    { allowed: VALUE },
  ),
  {
    propertyNames: matching(/^[^=\0]+$/, 'a name of a variable, without "="'),
    allowed: "an object of names and values",
  },
);
const ENV_FILE = {
  path: { type: notEmpty("a file path"), description: "Path of the file." },
  optional: { type: flag, description: "Whether the file may be absent. Default: false." },
} as const satisfies Fields;
const ENV_FILES = 'a file path, { "path", "optional": true }, or a list of them';
const envFileEntry = union([notEmpty("a file path"), objectOf(ENV_FILE, { description: "An env file." })], {
  allowed: "a file path, or an object with path and optional",
});

/** What all processes have, and each process may have in addition. */
export const ENVIRONMENT = {
  env: {
    type: optional(environment),
    description:
      'Extra environment variables. They override those of procman, except PATH, which is appended. In a value ${NAME} and ${NAME:-default} stand for variables of procman\'s own environment and of envFile. A secret is read when a run starts: { "file": path } from a file, { "env": name } from such a variable.',
  },
  envFile: {
    type: optional(
      union(
        [
          notEmpty("a file path"),
          objectOf(ENV_FILE, { description: "An env file." }),
          { minItems: 1, ...listOf(envFileEntry, ENV_FILES) },
        ],
        {
          allowed: ENV_FILES,
        },
      ),
    ),
    description:
      'File or files with more variables, as NAME=value lines; read whenever a run starts. { "path": file, "optional": true }: it may be absent.',
  },
} as const satisfies Fields;
