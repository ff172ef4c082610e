/** How a process is run: its specification as API and command line show it, without secrets. */
import { boolean, enumeration, integer, list, openObject, optional, string } from "../base/schema.ts";

export type { DefinitionRecord, VariableRecord, WrittenPart } from "../../../generated/records.ts";

const VARIABLE = openObject({
  name: string({ description: "Its name." }),
  source: enumeration(["env", "file", "variable", "procman"], {
    description: "The configuration; a file; a variable of procman's own environment; procman itself.",
  }),
  value: optional(string({ description: "References are not replaced. Absent: it may be secret." })),
  from: optional(string({ description: "The file, or the name of the variable." })),
});

const WRITTEN = openObject(
  {
    file: string({ description: "Absolute path of the file." }),
    line: integer({ description: "Line on which it begins; the first is 1." }),
    text: string({
      description: "As it is written, with its comments; `***` stands for each value that may be secret.",
    }),
  },
  {
    description:
      "The process in the configuration file as it is now, without parts of profiles and of what it inherits; absent: the file has no such process, or is not valid.",
  },
);

export const DEFINITION = openObject(
  {
    process: string({ description: "Id of the process or instance." }),
    cluster: optional(string({ description: "Id of its cluster." })),
    groups: optional(list(string(), { description: "Groups that it belongs to." })),
    argv: list(string(), { description: "The program and its arguments, as they are executed." }),
    shell: boolean({ description: "A shell runs the command line; it may become the program, as `exec` does." }),
    cwd: string({ description: "Working directory." }),
    user: string({ description: "User that it runs as: its name, or its number without a name." }),
    group: optional(string({ description: "Unix group, if it is not that of the user." })),
    stdin: optional(
      string({ description: "`open`, `terminal`, or the file that is its standard input. Absent: /dev/null." }),
    ),
    stdout: optional(string({ description: "File for standard output." })),
    stderr: optional(string({ description: "File for standard error." })),
    pidFile: optional(string({ description: "File with its pid." })),
    port: optional(integer({ description: "Port of the process or instance." })),
    commonPort: optional(integer({ description: "Port of the load balancer, or of the shared socket." })),
    env: list(VARIABLE, { description: "Variables beside those that it inherits." }),
    envFiles: list(string(), { description: "Their variables are not shown." }),
    dependsOn: list(string(), { description: "Such as `db (ready)`." }),
    start: string({ description: "When it starts." }),
    restart: string({ description: "When it is restarted." }),
    stop: string({ description: "How it is stopped." }),
    hooks: optional(list(string(), { description: "Such as `beforeStart: npm run migrate (at most 60 s)`." })),
    unapplied: optional(
      string({ description: "What a reload of the configuration file would do to it; absent: nothing." }),
    ),
    written: optional(WRITTEN),
  },
  { description: "How a process is run, without secrets." },
);
