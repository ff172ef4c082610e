/** How a process is run: its specification as API and command line show it, without secrets. */
import { boolean, enumeration, integer, list, optional, schemaFor, string } from "../base/schema.ts";

/** Where the value of a variable comes from, and the value, unless it may be secret. */
export type VariableRecord = {
  readonly name: string;
  readonly source: "env" | "file" | "variable" | "procman";
  /** Absent: it is hidden. A reference such as `${HOST}` is not replaced. */
  readonly value?: string;
  /** Path of a `file`, or name of a `variable` in procman's own environment. */
  readonly from?: string;
};

/** A process in the configuration file. */
export type WrittenPart = {
  /** Absolute path of the file. */
  readonly file: string;
  /** Line on which it begins; the first is 1. */
  readonly line: number;
  /** As it is written, with its comments; `***` stands for each value that may be secret. */
  readonly text: string;
};

export type DefinitionRecord = {
  readonly process: string;
  readonly cluster?: string;
  readonly groups?: readonly string[];
  /** The program and its arguments, as they are executed. */
  readonly argv: readonly string[];
  /** A shell runs the command line; it may become the program, as `exec` does. */
  readonly shell: boolean;
  readonly cwd: string;
  /** Names, or numbers without a name. */
  readonly user: string;
  readonly group?: string;
  readonly stdout?: string;
  readonly stderr?: string;
  readonly pidFile?: string;
  /** Its port, as an instance of a cluster. */
  readonly port?: number;
  /** Port of the load balancer, or of the shared socket. */
  readonly commonPort?: number;
  readonly env: readonly VariableRecord[];
  /** Their variables are not shown. */
  readonly envFiles: readonly string[];
  readonly dependsOn: readonly string[];
  /** When it starts, and is restarted and stopped; one sentence each. */
  readonly start: string;
  readonly restart: string;
  readonly stop: string;
  /** Its hooks, such as `beforeStart: npm run migrate (at most 60 s)`. */
  readonly hooks?: readonly string[];
  /** What a reload of the configuration file would do to it; absent: nothing. */
  readonly unapplied?: string;
  /** What the file has now, without the parts of profiles; absent: the file has no such process, or is not valid. */
  readonly written?: WrittenPart;
};

const VARIABLE = schemaFor<VariableRecord>({
  name: string({ description: "Its name." }),
  source: enumeration(["env", "file", "variable", "procman"], {
    description: "The configuration; a file; a variable of procman's own environment; procman itself.",
  }),
  value: optional(string({ description: "References are not replaced. Absent: it may be secret." })),
  from: optional(string({ description: "The file, or the name of the variable." })),
});

const WRITTEN = schemaFor<WrittenPart>(
  {
    file: string({ description: "Absolute path of the file." }),
    line: integer({ description: "Of its beginning, from 1." }),
    text: string({
      description: "As it is written, with its comments; `***` stands for each value that may be secret.",
    }),
  },
  { description: "The process in the configuration file as it is now, without parts of profiles." },
);

export const DEFINITION = schemaFor<DefinitionRecord>(
  {
    process: string({ description: "Id of the process or instance." }),
    cluster: optional(string({ description: "Id of its cluster." })),
    groups: optional(list(string(), { description: "Groups that it is in." })),
    argv: list(string(), { description: "The program and its arguments, as they are executed." }),
    shell: boolean({ description: "A shell runs the command line." }),
    cwd: string({ description: "Working directory." }),
    user: string({ description: "User that it runs as." }),
    group: optional(string({ description: "Unix group, if it is not that of the user." })),
    stdout: optional(string({ description: "File for standard output." })),
    stderr: optional(string({ description: "File for standard error." })),
    pidFile: optional(string({ description: "File with its pid." })),
    port: optional(integer({ description: "Port of the instance." })),
    commonPort: optional(integer({ description: "Port of the load balancer, or of the shared socket." })),
    env: list(VARIABLE, { description: "Variables beside those that it inherits." }),
    envFiles: list(string(), { description: "Their variables are not shown." }),
    dependsOn: list(string(), { description: "Such as `db (ready)`." }),
    start: string({ description: "When it starts." }),
    restart: string({ description: "When it is restarted." }),
    stop: string({ description: "How it is stopped." }),
    hooks: optional(list(string(), { description: "Such as `beforeStart: npm run migrate (at most 60 s)`." })),
    unapplied: optional(string({ description: "What a reload of the configuration file would do to it." })),
    written: optional(WRITTEN),
  },
  { description: "How a process is run, without secrets." },
);
