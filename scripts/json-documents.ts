/** What each command prints with `--json`: of this table `json-reference.ts` makes docs/reference/json.md, and `test/e2e/json-documents.test.ts` checks every command against it. */
import type { CommandName } from "../src/cli/commands.ts";
import {
  boolean,
  enumeration,
  integer,
  type JsonSchema,
  list,
  literal,
  openObject,
  optional,
  reference,
  string,
  time,
} from "../src/core/base/schema.ts";
import { SCHEMAS } from "../src/core/contract/record-schemas.ts";
import { SCOPES } from "../src/core/contract/token-claims.ts";

const text = (description: string): ReturnType<typeof string> => string({ description });
const texts = (description: string): ReturnType<typeof list<string>> => list(string(), { description });
const processes = list(reference("ProcessRecord"), { description: "All processes." });

/** Documents that commands alone print; the other ones are records of the API. */
const OWN = {
  StartDocument: openObject(
    {
      started: boolean({ description: "Whether it has started procman." }),
      changed: boolean({ description: "Whether it has started or changed anything." }),
      pid: optional(integer({ description: "Pid of the procman that it has started." })),
      warnings: texts("Warnings about the configuration."),
      failed: texts("Ids of processes that could not be started."),
      late: texts("Ids of processes that are not up in time."),
      processes,
    },
    { description: "What a start has done." },
  ),
  HostStatus: openObject(
    {
      host: text("Name of the machine."),
      processes: optional(processes),
      problem: optional(text("Why it doesn't answer, in place of `processes`.")),
    },
    { description: "The processes of one machine." },
  ),
  ProcmanProcesses: openObject(
    {
      name: text("Its `name`."),
      configFile: optional(text("Its configuration file. Absent: its keeper was killed.")),
      stateDir: text("Its state folder."),
      processes: optional(processes),
      problem: optional(text("Why it doesn't answer, in place of `processes`.")),
    },
    { description: "The processes of one procman of this machine." },
  ),
  WhyRecord: openObject(
    {
      process: optional(reference("ProcessRecord", { description: "The process." })),
      id: optional(text("Its id, in place of `process`: procman doesn't answer.")),
      incidents: list(reference("Incident"), { description: "The ends of its last runs, newest first." }),
      runs: list(reference("RunSummary"), { description: "Its last runs, newest first." }),
      why: texts("The sentences."),
    },
    { description: "Why a process is in its state." },
  ),
  ListedProcman: openObject(
    {
      name: text("Its `name`."),
      status: enumeration(["running", "terminating", "service-down", "no-keeper"], {
        description: "`no-keeper`: the keeper was killed and not replaced; the processes are running.",
      }),
      configFile: optional(text("Absent: its keeper was killed.")),
      stateDir: text("The state folder."),
      user: text("Who runs it."),
      keeper: optional(integer({ description: "Pid." })),
      service: optional(integer({ description: "Pid." })),
      version: optional(text("Of the service.")),
      started: optional(time({ description: "When the keeper was started." })),
      uptimeSeconds: optional(integer({ description: "Since then." })),
      processes: optional(
        openObject(
          {
            total: integer({ description: "How many there are." }),
            attention: integer({
              description: "How many are not up although they should be, not ready, or not healthy.",
            }),
          },
          { description: "Absent: it can't be asked." },
        ),
      ),
      api: optional(
        openObject(
          { hostname: text("Address."), port: integer({ description: "Port." }) },
          { description: "Its API." },
        ),
      ),
      url: optional(text("Of the API.")),
      socket: optional(text("Path of the API's Unix socket.")),
      problem: optional(text("Why it doesn't answer.")),
    },
    { description: "A running procman." },
  ),
  PlannedRun: openObject(
    {
      process: text("Id."),
      action: enumeration(["start", "terminate", "restart", "scale"], { description: "What is planned." }),
      time: time({ description: "When." }),
      timeZone: optional(text("Time zone of the schedule, if one is configured.")),
      min: optional(integer({ description: "Of `scale`: the least number of instances from then on." })),
      max: optional(integer({ description: "Of `scale`: the most instances from then on." })),
      pinned: optional(literal(true, { description: "The number of instances is pinned, so that nothing changes." })),
    },
    { description: "A start, a stop or a size that is planned." },
  ),
  UpgradeReport: openObject(
    {
      id: text("Of the request."),
      ok: boolean({ description: "Whether all parts were replaced." }),
      keeper: text("Version of the keeper, which stays."),
      steps: list(
        openObject({
          part: enumeration(["service", "logger", "balancer"], { description: "The part of procman." }),
          from: text("Its version before."),
          to: text("The version of this command."),
          ok: boolean({ description: "Whether it was replaced." }),
          ms: integer({ description: "How long that took, in milliseconds." }),
          problem: optional(text("Why it was not replaced; the old one keeps running.")),
        }),
        { description: "One for each part." },
      ),
      notice: optional(text("What else to know.")),
    },
    { description: "What an upgrade has done." },
  ),
  DashboardLink: openObject(
    {
      code: text("One-time code for the link: `URL#code=CODE`."),
      expiresInSeconds: integer({ description: "How long it can be exchanged." }),
      url: optional(text("Address of the page; absent without a port.")),
      socket: optional(text("Path of the Unix socket of the API.")),
    },
    { description: "A code for the dashboard." },
  ),
  ImportReport: openObject(
    {
      file: optional(text("The file that was written; absent with `--check` and `--stdout`.")),
      processes: texts("Ids."),
      left: texts("Names of what was left out, because nothing of it can be run."),
      notes: list(
        openObject({
          process: optional(text("Id, or the name of what was left out.")),
          field: text("The field of the other tool."),
          advice: text("What to know, or to do."),
        }),
        { description: "What was not converted, or converted differently." },
      ),
    },
    { description: "What an import has done." },
  ),
  ValidationRecord: openObject(
    {
      file: optional(text("Absent: none was found.")),
      valid: boolean({ description: "Whether it can be run." }),
      processes: optional(integer({ description: "Number of processes; of a valid file." })),
      next: optional(
        list(
          openObject({
            process: text("Id."),
            action: enumeration(["start", "terminate", "scale"], { description: "What the schedule does." }),
            pattern: text("The cron pattern."),
            timeZone: optional(text("Its time zone, if one is configured.")),
            next: optional(time({ description: "The next time; absent: never." })),
          }),
          { description: "The schedules of a valid file." },
        ),
      ),
      problems: list(reference("ConfigProblem"), { description: "Errors." }),
      warnings: list(reference("ConfigProblem"), { description: "What is valid, but hardly meant." }),
    },
    { description: "The result of a check." },
  ),
  ConfigProblem: openObject(
    {
      file: text("Relative to the current folder where it lies below it; empty without a file."),
      line: integer({ description: "From 1; 0 without a place." }),
      column: integer({ description: "From 1; 0 without a place." }),
      path: text("Path in the data, such as `processes[0].restart`."),
      message: text("What was found, what is allowed, what to do."),
    },
    { description: "A problem of a configuration file." },
  ),
  TokenRecord: openObject(
    {
      token: text("For `Authorization: Bearer TOKEN`."),
      consumer: text("Whose it is."),
      scopes: list(enumeration(SCOPES), { description: "What it may do." }),
      processes: optional(texts("Of a limited token: the processes that it sees.")),
      groups: optional(texts("Of a limited token: the groups that it sees.")),
      expires: optional(time({ description: "Absent: it doesn't expire." })),
    },
    { description: "A token for the API." },
  ),
  ListedPort: openObject(
    {
      port: optional(integer({ description: "The port. Absent: with `problem`." })),
      process: optional(text("Id of the process or instance; of a cluster: it is its common port.")),
      url: optional(text("Its address here. Absent: its procman isn't running, and the port is reserved.")),
      checkout: optional(text("Folder of the configuration file.")),
      stateDir: optional(text("State folder of its procman.")),
      problem: optional(text("Why this procman doesn't answer, or why it isn't known whose port it is.")),
    },
    { description: "A port of a process, or one that is reserved for it." },
  ),
  NamedHost: openObject(
    {
      name: text("For `--host`."),
      url: text("`ssh://…` or `https://…`."),
      program: optional(text("How procman is called there, by ssh.")),
      tokenFile: optional(text("File with the token, by https.")),
      ca: optional(text("File with the authorities of its certificate.")),
      groups: optional(texts("For `--host @GROUP`.")),
    },
    { description: "Another machine." },
  ),
  EditRecord: openObject(
    {
      file: text("Absolute path of the configuration file."),
      process: text("Id."),
      changed: boolean({ description: "Whether the file was changed: it may have had this process already." }),
    },
    { description: "What an edit of the configuration file has done." },
  ),
  TerminationRecord: openObject(
    {
      name: text("Name of the procman."),
      ended: boolean({ description: "Whether it has ended; with `--no-wait` it is ending." }),
    },
    { description: "What a termination has done." },
  ),
  UnitRecord: openObject(
    {
      name: text("Name of the procman."),
      init: enumeration(["systemd", "launchd", "openrc", "runit", "s6", "cron"], { description: "The init system." }),
      scope: enumeration(["system", "user"], {
        description: "Whether the machine starts it, or the session of a user.",
      }),
      unit: text("What the init system calls it, or its file."),
      updated: optional(boolean({ description: "Of `install`: whether there was one before." })),
      running: optional(boolean({ description: "Of `install`: whether procman runs now." })),
    },
    { description: "What starts procman at boot." },
  ),
  HostName: openObject(
    { name: text("As it was called.") },
    { description: "A machine that was removed from the list." },
  ),
  VersionRecord: openObject({ version: text("Of procman."), node: text("Of Node.") }, { description: "Versions." }),
  ErrorLine: openObject(
    {
      error: openObject(
        {
          code: text("Stable name of the error: [all](api.md#codes)."),
          message: text("What has happened, and what to do."),
          problems: optional(
            list(openObject({ place: text("Where."), message: text("What was found, and what is allowed.") }), {
              description: "Of an invalid file or input: all its problems.",
            }),
          ),
          processes: optional(texts("Ids of those that have failed, or are not up in time.")),
          taken: optional(integer({ description: "Of `input-full`: how many bytes of the input were taken." })),
        },
        { description: "The error." },
      ),
    },
    { description: "An error, as one line on standard error." },
  ),
} as const satisfies Readonly<Record<string, JsonSchema>>;

type DocumentName = keyof typeof OWN | keyof typeof SCHEMAS;

/** One document: a record, or a list of records; or one record a line. */
type Printed = { readonly as: "one" | "list" | "lines"; readonly record: DocumentName; readonly when?: string };

const records: readonly Printed[] = [{ as: "list", record: "ProcessRecord" }];
const start: readonly Printed[] = [{ as: "one", record: "StartDocument" }];

const edit: readonly Printed[] = [{ as: "one", record: "EditRecord" }];
const rollout: readonly Printed[] = [{ as: "list", record: "RolloutRecord" }];
const unit: readonly Printed[] = [{ as: "one", record: "UnitRecord", when: "without `--dry-run`" }];

/** By command; one without documents prints text, and only its errors are JSON. */
export const PRINTED: Readonly<
  Partial<
    Record<
      | CommandName
      | `host ${"add" | "list" | "remove"}`
      | `history ${"list" | "show"}`
      | `rollout ${"status" | "continue" | "abort"}`
      | "version",
      readonly Printed[]
    >
  >
> = {
  run: [{ as: "one", record: "StartDocument", when: "with `--detach`" }],
  up: start,
  terminate: [{ as: "one", record: "TerminationRecord" }],
  install: unit,
  uninstall: unit,
  upgrade: [{ as: "one", record: "UpgradeReport" }],
  status: [
    ...records,
    { as: "list", record: "HostStatus", when: "with several hosts" },
    { as: "list", record: "ProcmanProcesses", when: "with `--all`" },
  ],
  dashboard: [{ as: "one", record: "DashboardLink" }],
  logs: [{ as: "lines", record: "LogEntry" }],
  why: [
    { as: "one", record: "WhyRecord" },
    { as: "list", record: "WhyRecord", when: "of a cluster, a group or `all`" },
  ],
  list: [{ as: "list", record: "ListedProcman" }],
  ports: [{ as: "list", record: "ListedPort" }],
  show: [{ as: "list", record: "DefinitionRecord" }],
  next: [{ as: "list", record: "PlannedRun" }],
  start: records,
  stop: records,
  restart: records,
  block: records,
  unblock: records,
  disable: records,
  enable: records,
  scale: [{ as: "one", record: "ProcessRecord" }],
  signal: records,
  send: [{ as: "one", record: "InputRecord" }],
  exec: [{ as: "one", record: "ExecRecord" }],
  flush: [{ as: "one", record: "FlushRecord" }],
  plan: [{ as: "one", record: "PlanRecord" }],
  reload: [
    { as: "one", record: "PlanRecord" },
    { as: "list", record: "ProcessRecord", when: "with ids" },
  ],
  deploy: [{ as: "one", record: "DeploymentRecord" }],
  releases: [{ as: "list", record: "ReleaseRecord" }],
  "rollout status": rollout,
  "rollout continue": rollout,
  "rollout abort": rollout,
  "history list": [{ as: "list", record: "HistoryEntry" }],
  "history show": [{ as: "one", record: "HistoryDetail" }],
  diff: [{ as: "one", record: "HistoryDiff" }],
  rollback: [{ as: "one", record: "RollbackRecord" }],
  init: edit,
  add: edit,
  append: edit,
  remove: edit,
  import: [{ as: "one", record: "ImportReport" }],
  validate: [{ as: "one", record: "ValidationRecord" }],
  "host add": [{ as: "one", record: "NamedHost" }],
  "host remove": [{ as: "one", record: "HostName" }],
  "host list": [{ as: "list", record: "NamedHost" }],
  token: [{ as: "one", record: "TokenRecord" }],
  version: [{ as: "one", record: "VersionRecord" }],
};

/** Why a command has no document. */
export const WITHOUT_DOCUMENT: Readonly<Partial<Record<CommandName, string>>> = {
  monitor: "a screen; for programs: `logs -f --json`, and the [events](api.md#events) of the API",
  dev: "a screen, or lines for people; for programs: `run`, and `logs -f --json`",
  attach: "it shows what a process writes; for programs: `send --json`, and `logs -f --json`",
  export: "it prints or writes files of other tools",
  schema: "it prints JSON anyway",
  completion: "it prints a script",
  mcp: "it speaks the Model Context Protocol",
};

/** By name. */
export const DOCUMENTS: Readonly<Record<string, JsonSchema>> = { ...SCHEMAS, ...OWN };

/** Schemas with what they refer to. Further members are faults: tests want to see them. */
const whole = new Map<string, JsonSchema>();

/** The schema of what is printed; of lines, of one line. A member that it doesn't have is a fault. */
export function schemaOfPrinted({ as, record }: Printed): JsonSchema {
  const one = wholeOf(record);
  return as === "list" ? { type: "array", items: one } : one;
}

/** The schema of an error line. */
export const ERROR_LINE = wholeOf("ErrorLine");

function wholeOf(name: string): JsonSchema {
  const known = whole.get(name);
  if (known !== undefined) return known;
  // Known before its parts are: a record has records of its own kind.
  const made: JsonSchema = {};
  whole.set(name, made);
  return Object.assign(made, closed(DOCUMENTS[name] ?? {}));
}

function closed(schema: JsonSchema): JsonSchema {
  if (schema.$ref !== undefined) return wholeOf(nameIn(schema.$ref));
  const { properties, items, additionalProperties, anyOf, oneOf, ...rest } = schema;
  return {
    ...rest,
    ...(properties && {
      additionalProperties: false,
      properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, closed(each)])),
    }),
    ...(items && { items: closed(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: closed(additionalProperties) }),
    ...(anyOf && { anyOf: anyOf.map(closed) }),
    ...(oneOf && { oneOf: oneOf.map(closed) }),
  };
}

/** The name of a document in a reference to it. */
export function nameIn(ref: string): string {
  return ref.replace(/^.*\//, "");
}
