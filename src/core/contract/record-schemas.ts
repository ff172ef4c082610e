/** Schemas of the records, for the OpenAPI document. Their types are in `generated/records.ts`. */
import type { ErrorPlace } from "../base/errors.ts";
import {
  boolean,
  enumeration,
  integer,
  type JsonSchema,
  list,
  literal,
  number,
  openObject,
  optional,
  reference,
  schemaFor,
  string,
  time,
} from "../base/schema.ts";
import { STATUS_CAUSE } from "./causes.ts";
import { DEFINITION } from "./definition-record.ts";
import { DEPLOY_ORDER, DEPLOYMENT, RELEASE } from "./deployment-record.ts";
import type { EventRecord } from "./event-record.ts";
import { EXEC_INPUT, EXEC_ITEM, EXEC_LAUNCH, EXEC_ORDER, EXEC_RECORD, LAUNCH_ORDER } from "./execution.ts";
import { HISTORY_DETAIL, HISTORY_DIFF, HISTORY_ENTRY, ROLLBACK } from "./history-record.ts";
import {
  EXACT_SIGNAL,
  LOG_SUBMISSION,
  PROCESS_INPUT,
  SCALING,
  SIGN_IN_EXCHANGE,
  SIGN_IN_ORDER,
  SIGNALLING,
  TELEMETRY_REPORT,
} from "./input-schemas.ts";
import { PLAN } from "./plan.ts";
import { PLUGIN } from "./plugin-record.ts";
import { CATEGORIES, type ProblemRecord, SEVERITIES, STATUSES } from "./records.ts";
import { ROLLOUT, ROLLOUT_ORDER, ROLLOUT_STEP } from "./rollout-record.ts";
import { INCIDENT, RUN } from "./run-summary.ts";
import { SCALE_RECORD } from "./scale-record.ts";
import { SCREEN_ITEM } from "./screen.ts";
import { STATE } from "./state-record.ts";

const PROCESS = openObject(
  {
    id: string({ description: "Id in the configuration; of an instance `ID-1` … `ID-n`." }),
    type: enumeration(["process", "worker", "cluster", "group"], {
      description: "`group`: the answer for `group:NAME`.",
    }),
    status: enumeration(STATUSES, { description: "`mixed`: the instances of a cluster have different statuses." }),
    blocked: boolean({ description: "Nothing starts it until it is unblocked." }),
    disabled: optional(
      literal(true, {
        description: "It, or each instance of the cluster, starts only by request, even after a shutdown or a reboot.",
      }),
    ),
    pid: optional(integer({ description: "Its pid, while it runs." })),
    run: optional(
      integer({ description: "Number of its latest run, from 1; while runs overlap, of the latest that isn't over." }),
    ),
    runs: optional(
      list(
        openObject({
          run: integer({ description: "Number of the run." }),
          pid: optional(integer({ description: "Absent until it has a process." })),
          started: optional(time({ description: "Start of the run." })),
        }),
        {
          description:
            "With `overrun`: the runs that are not over, oldest first. `pid`, `run` and `started` are those of the last one.",
        },
      ),
    ),
    restarts: integer({ description: "Restarts since the count was last cleared." }),
    code: optional(integer({ description: "Exit code of the last run." })),
    signal: optional(string({ description: "Signal that ended the last run, such as `SIGKILL`." })),
    started: optional(time({ description: "Start of the current run." })),
    exited: optional(time({ description: "End of the last run, while the process doesn't run." })),
    updated: optional(time({ description: "Time of the last change of its state." })),
    nextRun: optional(time({ description: "Next start by its schedule; absent while it is blocked or disabled." })),
    nextTerminate: optional(time({ description: "Next termination by its schedule." })),
    nextRestart: optional(time({ description: "Next attempt, after a failure." })),
    timeZone: optional(string({ description: "Time zone of its schedules, if one is configured." })),
    missed: optional(
      openObject(
        {
          times: integer({ description: "Number of missed starts, counted up to 1000." }),
          first: time({ description: "The first of them." }),
          last: time({ description: "The last of them." }),
          madeUpFor: boolean({ description: "Whether the process is started once for them (`catchUp`)." }),
        },
        { description: "Scheduled starts that were missed while procman was not running, until the next one comes." },
      ),
    ),
    ready: optional(
      boolean({
        description:
          "While it runs: whether it is ready; of a cluster: whether any of its instances is, and gets connections.",
      }),
    ),
    healthy: optional(boolean({ description: "While it runs: the result of its health checks, if it has any." })),
    reason: string({ description: "Why it is in this state, in one sentence." }),
    cause: optional(STATUS_CAUSE),
    cpuPercent: optional(
      number({ description: "CPU use of the process and all its descendants, as last sampled; 100 is one core." }),
    ),
    memoryBytes: optional(
      number({
        description: "Private memory of the process and all its descendants; `memoryLimit` is compared with it.",
      }),
    ),
    cpuLimitPercent: optional(
      number({ description: "The most CPU that it gets (`cpuQuota`), in the same unit; of a cluster, the sum." }),
    ),
    memoryLimitBytes: optional(
      number({
        description: "`memoryLimit`, or `memoryMax` without one; of a cluster, the sum. Absent: there is no limit.",
      }),
    ),
    residentBytes: optional(
      number({
        description: "Their resident memory (RSS), in which shared memory counts for each process that has it. Linux.",
      }),
    ),
    telemetry: optional(reference("TelemetryReport", { description: "The last report that it sent." })),
    instance: optional(integer({ description: "Number from 1, for an instance of a cluster." })),
    cluster: optional(string({ description: "Id of its cluster." })),
    groups: optional(list(string(), { description: "Groups that it belongs to." })),
    task: optional(boolean({ description: "It is started by hand and runs to its end; absent: no." })),
    input: optional(literal(true, { description: "It takes input, by `POST /processes/{id}/input`; absent: no." })),
    terminal: optional(
      literal(true, { description: "It runs on a terminal: `GET /processes/{id}/screen`; absent: no." }),
    ),
    dependsOn: optional(
      list(
        openObject({
          process: string({ description: "Id." }),
          condition: enumeration(["started", "ready", "reachable", "finished", "completed"]),
        }),
        { description: "Processes that it waits for before it starts." },
      ),
    ),
    waitsFor: optional(
      string({
        description: "The dependencies it waits for before it starts, such as `db (ready)`; only while it waits.",
      }),
    ),
    skippedBy: optional(
      list(string(), {
        description:
          "For a skipped process: the ids on the way from its dependency to the process that has failed permanently.",
      }),
    ),
    instances: optional(list(reference("ProcessRecord"), { description: "Instances of a cluster." })),
    accepting: optional(
      boolean({ description: "Whether a running instance with a shared socket was seen to accept from that." }),
    ),
    backend: optional(
      openObject(
        {
          port: integer({ description: "Port of the instance." }),
          accepting: boolean({ description: "Whether it gets connections." }),
          connections: integer({ description: "Connections that are open now." }),
          totalConnections: integer({ description: "Connections in total." }),
          receivedBytes: integer({ description: "Bytes from clients." }),
          sentBytes: integer({ description: "Bytes to clients." }),
          refused: integer({ description: "Connections that it refused; each client got another instance." }),
        },
        { description: "The load balancer's view of an instance; counted since the balancer was started." },
      ),
    ),
    balancer: optional(
      openObject(
        {
          hostname: string({ description: "Address." }),
          port: integer({ description: "Port." }),
          strategy: string({ description: "How connections are distributed." }),
          problem: optional(string({ description: "Why the port isn't open; the balancer keeps trying." })),
          waiting: integer({ description: "Clients that wait for an instance." }),
          rejected: integer({
            description: "Clients that waited too long, or were turned away for lack of file descriptors.",
          }),
        },
        { description: "The load balancer's work for a cluster with a common port." },
      ),
    ),
    sleep: optional(
      openObject(
        {
          afterSeconds: number({ description: "`idle.after`." }),
          wakeOn: enumeration(["connect", "data"], { description: "`idle.wakeOn`." }),
          wakes: integer({ description: "Wakes by a client since the service was started." }),
          lastWakeMs: optional(integer({ description: "Of the last one: until it got connections." })),
          busy: optional(string({ description: "Why it stays awake without a client." })),
          turnedAway: optional(
            integer({ description: "Clients of the last wake that were turned away, as it did not come up." }),
          ),
        },
        { description: "Of `idle`." },
      ),
    ),
    scale: optional(SCALE_RECORD),
    socket: optional(
      openObject(
        { hostname: string({ description: "Address." }), port: integer({ description: "Port." }) },
        {
          description:
            "The listening socket that the instances of a cluster share; open while any of them runs or starts.",
        },
      ),
    ),
  },
  {
    description:
      "A process, an instance of a cluster, or a cluster with its instances. Members without a value are absent.",
  },
);

const LOG_ENTRY = openObject(
  {
    time: time({ description: "When it was written." }),
    process: optional(string({ description: "Id of the process or instance; absent: procman's own." })),
    instance: optional(integer({ description: "Number of the instance, from 1." })),
    run: optional(integer({ description: "Number of the run." })),
    severity: enumeration(SEVERITIES, {
      description: "Of output: what the line says, else `info` (stdout) or `error` (stderr).",
    }),
    category: enumeration(CATEGORIES, {
      description:
        "Its source: output of a process, its lifecycle, a request, a submission (`log`), a plugin, procman itself.",
    }),
    text: string({ description: "Without the line end." }),
  },
  { description: "One line of the log." },
);

const METRIC_POINT = openObject(
  {
    time: time({ description: "When it was measured." }),
    cpuPercent: number({ description: "100 is one core." }),
    memoryBytes: number({ description: "Private memory." }),
    processes: integer({ description: "Number of the processes." }),
    instances: optional(integer({ description: "Of a cluster or a group: how many instances and processes ran." })),
  },
  { description: "CPU and memory of a process and all its descendants at one time." },
);

const FLUSHED = openObject(
  {
    processes: list(string(), { description: "Ids." }),
    store: boolean({ description: "Whether the stored output of all processes was deleted." }),
    files: list(string(), { description: "Log files that were emptied." }),
    kept: list(
      openObject({
        file: string({ description: "A log file, or the folder of the stored log." }),
        reason: string({ description: "Why it was not emptied." }),
      }),
      { description: "What was not emptied." },
    ),
  },
  { description: "What a flush of the logs has done." },
);

const INPUT_TAKEN = openObject(
  {
    process: string({ description: "Id of the process or instance." }),
    bytes: integer({ description: "Their number. They are in its pipe, where it reads them." }),
  },
  { description: "Bytes that a process has got." },
);

const PROBLEM = schemaFor<ProblemRecord>(
  {
    type: string({ description: "Always `about:blank`." }),
    title: string({ description: "Name of the status." }),
    status: integer({ description: "Status of the answer." }),
    detail: string({ description: "What has happened, and what to do." }),
    code: string({ description: "Stable name of the error, for programs." }),
    problems: optional(
      list(
        schemaFor<ErrorPlace>({
          place: string({ description: "Such as `query.limit` or `body.memory.rss`." }),
          message: string({ description: "What was found, and what is allowed." }),
        }),
        { description: "Of an invalid input: all its problems." },
      ),
    ),
    processes: optional(
      list(string(), {
        description:
          "Of an action, or a reload, that was waited for: ids of those that have failed, or are not up in time.",
      }),
    ),
    taken: optional(integer({ description: "Of `input-full`: how many bytes of the input were taken." })),
  },
  { description: "An error (RFC 9457)." },
);

/** The other members of each type of event. */
const EVENTS: Readonly<Record<EventRecord["type"], Readonly<Record<string, JsonSchema>>>> = {
  "process.state": {
    process: reference("ProcessRecord"),
    text: string({ description: "What happened, in one sentence." }),
  },
  "process.scheduled": {
    process: string({ description: "Id." }),
    text: string({ description: "What its schedule did." }),
  },
  "process.scaled": {
    process: string({ description: "Id of the cluster." }),
    from: integer({ description: "Instances before." }),
    to: integer({ description: "Instances after; the same number: it would need more, and gets none." }),
    text: string({ description: "Why, in one sentence." }),
  },
  "process.watch": {
    process: string({ description: "Id." }),
    file: string({ description: "The file that has changed." }),
  },
  "process.telemetry": { report: reference("TelemetryReport") },
  "process.incident": { incident: reference("Incident") },
  log: { entry: reference("LogEntry") },
  "plugin.state": { plugin: reference("PluginRecord") },
  "service.state": { state: reference("StateRecord") },
  "configuration.applied": { entry: reference("HistoryEntry") },
  "rollout.phase": { rollout: reference("RolloutRecord") },
};

const EVENT: JsonSchema = {
  description: "An event. Its `id` is the value for `Last-Event-ID`; ids increase, except those of type `log`.",
  oneOf: Object.entries(EVENTS).map(([type, members]) => ({
    type: "object",
    required: [
      "id",
      "time",
      "type",
      ...Object.keys(members).filter((name) => name !== "text" || type !== "process.state"),
    ],
    properties: {
      id: string({ description: "Of the event." }),
      time: time({ description: "When it happened." }),
      type: { type: "string", const: type },
      ...members,
    },
  })),
};

const LOG_ITEM: JsonSchema = {
  description:
    "Item of a followed log: a line, or a gap for what the reader was too slow for. Its `cursor` is the value for `Last-Event-ID`.",
  oneOf: [
    {
      type: "object",
      required: ["type", "entry", "cursor"],
      properties: {
        type: { type: "string", const: "entry" },
        entry: reference("LogEntry"),
        cursor: string({ description: "Where to continue." }),
      },
    },
    {
      type: "object",
      required: ["type", "bytes", "cursor"],
      properties: {
        type: { type: "string", const: "gap" },
        bytes: integer({ description: "Size of the gap." }),
        cursor: string({ description: "Where to continue." }),
      },
    },
  ],
};

const SIGN_IN_CODE = openObject(
  {
    code: string({ description: "It belongs in the part of the address that isn't sent: `/#code=CODE`." }),
    expiresInSeconds: integer({ description: "How long it can be exchanged." }),
  },
  { description: "A one-time code for the dashboard." },
);

const SIGN_IN_TOKEN = openObject(
  { token: string({ description: "For `Authorization: Bearer TOKEN`." }) },
  { description: "A token for the dashboard." },
);

export const SCHEMAS = {
  ProcessRecord: PROCESS,
  DefinitionRecord: DEFINITION,
  StateRecord: STATE,
  LogEntry: LOG_ENTRY,
  LogItem: LOG_ITEM,
  FlushRecord: FLUSHED,
  LogSubmission: LOG_SUBMISSION,
  TelemetryReport: TELEMETRY_REPORT,
  Scaling: { ...SCALING, oneOf: [{ required: ["instances"] }, { required: ["by"] }] },
  Signalling: { ...SIGNALLING, properties: { ...SIGNALLING.properties, signal: EXACT_SIGNAL } },
  ProcessInput: { ...PROCESS_INPUT, oneOf: [{ required: ["text"] }, { required: ["data"] }] },
  InputRecord: INPUT_TAKEN,
  ScreenItem: SCREEN_ITEM,
  MetricPoint: METRIC_POINT,
  Incident: INCIDENT,
  RunSummary: RUN,
  PluginRecord: PLUGIN,
  EventRecord: EVENT,
  PlanRecord: PLAN,
  HistoryEntry: HISTORY_ENTRY,
  HistoryDetail: HISTORY_DETAIL,
  HistoryDiff: HISTORY_DIFF,
  RollbackRecord: ROLLBACK,
  DeployOrder: DEPLOY_ORDER,
  DeploymentRecord: DEPLOYMENT,
  ReleaseRecord: RELEASE,
  RolloutOrder: ROLLOUT_ORDER,
  RolloutStep: ROLLOUT_STEP,
  RolloutRecord: ROLLOUT,
  ExecOrder: EXEC_ORDER,
  ExecRecord: EXEC_RECORD,
  ExecItem: EXEC_ITEM,
  ExecInput: EXEC_INPUT,
  LaunchOrder: LAUNCH_ORDER,
  ExecLaunch: EXEC_LAUNCH,
  SignInOrder: SIGN_IN_ORDER,
  SignInCode: SIGN_IN_CODE,
  SignInExchange: SIGN_IN_EXCHANGE,
  SignInToken: SIGN_IN_TOKEN,
  Problem: PROBLEM,
} satisfies Readonly<Record<string, JsonSchema>>;
