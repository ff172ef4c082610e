/** What procman answers with, as schemas for the OpenAPI document. A member that the type has and the schema has not is an error of the compiler. */

import type { EventRecord } from "./event-record.ts";
import { LOG_SUBMISSION, SCALING, TELEMETRY_REPORT } from "./input-schemas.ts";
import type { JsonSchema } from "./json-schema.ts";
import { PLAN } from "./plan.ts";
import { PLUGIN } from "./plugin-record.ts";
import {
  type BackendRecord,
  type BalancerRecord,
  CATEGORIES,
  type Incident,
  type LogEntry,
  type MetricPoint,
  type ProblemRecord,
  type ProcessRecord,
  SEVERITIES,
  type SocketRecord,
  type Status,
} from "./records.ts";
import { listOf, named, number, record, text, time, truth, whole } from "./schema-words.ts";
import { STATE } from "./state-record.ts";

const STATUSES = Object.keys({
  created: 0,
  waiting: 0,
  starting: 0,
  running: 0,
  stopping: 0,
  backoff: 0,
  stopped: 0,
  finished: 0,
  errored: 0,
  exhausted: 0,
  mixed: 0,
} satisfies Record<Status, number>);

const PROCESS = record<ProcessRecord>(
  "A process, an instance of a cluster, or a cluster with its instances. What has no value is absent.",
  [
    ...([
      "pid",
      "run",
      "code",
      "signal",
      "started",
      "exited",
      "updated",
      "nextRun",
      "nextTerminate",
      "nextRestart",
      "ready",
      "healthy",
    ] as const),
    ...([
      "cpuPercent",
      "memoryBytes",
      "telemetry",
      "instance",
      "cluster",
      "dependsOn",
      "waitsFor",
      "instances",
      "backend",
      "balancer",
      "socket",
    ] as const),
  ],
  {
    id: text("Id of the configuration; of an instance `ID-1` … `ID-n`."),
    type: { type: "string", enum: ["process", "worker", "cluster"] },
    status: { type: "string", enum: STATUSES, description: "`mixed`: the instances of a cluster don't agree." },
    blocked: truth("No restart and no scheduled start until it is unblocked."),
    pid: whole("While it runs."),
    run: whole("Number of its latest run, from 1."),
    restarts: whole("Since the count was last cleared."),
    code: whole("What the last run ended with."),
    signal: text("What ended the last run, as `SIGKILL`."),
    started: time("Begin of the run that goes on."),
    exited: time("End of the last run, while none goes on."),
    updated: time("Since when it is in this state."),
    nextRun: time("Next start by its schedule."),
    nextTerminate: time("Next termination by its schedule."),
    nextRestart: time("Next attempt, after a failure."),
    ready: truth("While it runs: it does its work, as far as is known."),
    healthy: truth("While it runs: the outcome of its health checks, if it has any."),
    reason: text("Why it is in this state, in one sentence."),
    cpuPercent: number("Of the process with all its descendants; 100 is one core."),
    memoryBytes: number("Of the process with all its descendants."),
    telemetry: named("TelemetryReport", "The last that it sent about itself."),
    instance: whole("Number from 1, for an instance of a cluster."),
    cluster: text("Id of its cluster."),
    dependsOn: {
      type: "array",
      description: "Processes that it waits for before it starts.",
      items: {
        type: "object",
        required: ["process", "condition"],
        properties: { process: text("Id."), condition: { type: "string", enum: ["started", "ready", "finished"] } },
      },
    },
    waitsFor: text("What must be the case before it starts, as `db (ready)`; only while it waits."),
    instances: listOf("ProcessRecord", "Of a cluster."),
    backend: record<BackendRecord>(
      "What the load balancer says of an instance behind it; counted since the load balancer was started.",
      [],
      {
        port: whole("Where the instance listens."),
        accepting: truth("It gets connections."),
        connections: whole("Open now."),
        totalConnections: whole("In all."),
        receivedBytes: whole("From clients."),
        sentBytes: whole("To clients."),
        refused: whole("Connections that it refused; each client got another instance."),
      },
    ),
    balancer: record<BalancerRecord>("The common port of a cluster.", ["problem"], {
      hostname: text("Address."),
      port: whole("Port."),
      strategy: text("How connections are distributed."),
      problem: text("Why nobody listens there; it is tried again and again."),
      waiting: whole("Clients that wait for an instance."),
      rejected: whole("Clients that waited in vain, or were turned away."),
    }),
    socket: record<SocketRecord>("What the instances share.", [], { hostname: text("Address."), port: whole("Port.") }),
  },
);

const LOG_ENTRY = record<LogEntry>("One line of the log.", ["process", "instance", "run"], {
  time: time("When it was written."),
  process: text("Id of the process or instance; absent: procman's own."),
  instance: whole("Number of the instance, from 1."),
  run: whole("Number of the run."),
  severity: { type: "string", enum: SEVERITIES, description: "Output has `info` (stdout) or `error` (stderr)." },
  category: { type: "string", enum: CATEGORIES },
  text: text("Without the line end."),
});

const METRIC_POINT = record<MetricPoint>("CPU and memory of a process with all its descendants at one time.", [], {
  time: time("When it was measured."),
  cpuPercent: number("100 is one core."),
  memoryBytes: number("Resident memory."),
  processes: whole("How many processes that were."),
});

const INCIDENT = record<Incident>("One end of a run.", ["code", "signal", "pid", "started", "by", "leftOut"], {
  time: time("When it ended."),
  process: text("Id of the process or instance."),
  run: whole("Number of the run."),
  cause: {
    type: "string",
    enum: [
      "exit",
      "signal",
      "out-of-memory",
      "unstartable",
      "timeout",
      "unready",
      "unhealthy",
      "memory",
      "terminate",
      "watch",
      "operator",
      "shutdown",
      "unknown",
    ],
  },
  reason: text("In one sentence."),
  code: whole("What it ended with."),
  signal: text("What ended it."),
  pid: whole("What its pid was."),
  started: time("Begin of the run."),
  by: text("Who asked for it: the consumer of the token."),
  decision: text("What is done now."),
  lines: listOf("LogEntry", "Its last lines, oldest first."),
  metrics: listOf("MetricPoint", "Its last minutes."),
  leftOut: whole("So many ends just before it came too fast to be written down one by one."),
});

const PROBLEM = record<ProblemRecord>("An error (RFC 9457).", ["problems"], {
  type: text("Always `about:blank`."),
  title: text("Name of the status."),
  status: whole("Status of the answer."),
  detail: text("What is the case, and what to do."),
  code: text("What programs tell errors apart by."),
  problems: {
    type: "array",
    description: "Of an input that is not valid: everything that is wrong with it.",
    items: {
      type: "object",
      required: ["place", "message"],
      properties: { place: text("As `query.limit` or `body.memory.rss`."), message: text("What was found, and what is allowed.") },
    },
  },
});

/** The further members of each kind of event. */
const EVENTS: Readonly<Record<EventRecord["type"], Readonly<Record<string, JsonSchema>>>> = {
  "process.state": { process: named("ProcessRecord"), text: text("What happened, in one sentence.") },
  "process.scheduled": { process: text("Id."), text: text("What its schedule did.") },
  "process.watch": { process: text("Id."), file: text("What has changed.") },
  "process.telemetry": { report: named("TelemetryReport") },
  "process.incident": { incident: named("Incident") },
  log: { entry: named("LogEntry") },
  "plugin.state": { plugin: named("PluginRecord") },
  "service.state": { state: named("StateRecord") },
};

const EVENT: JsonSchema = {
  description: "What happens. `id` is what `Last-Event-ID` takes; without lines of the log it grows.",
  oneOf: Object.entries(EVENTS).map(([type, members]) => ({
    type: "object",
    required: ["id", "time", "type", ...Object.keys(members).filter((name) => name !== "text" || type !== "process.state")],
    properties: { id: text("Of the event."), time: time("When it happened."), type: { type: "string", const: type }, ...members },
  })),
};

const LOG_ITEM: JsonSchema = {
  description: "What a follower gets: a line, or how much it has missed because it was too slow; `cursor` is what `Last-Event-ID` takes.",
  oneOf: [
    {
      type: "object",
      required: ["type", "entry", "cursor"],
      properties: { type: { type: "string", const: "entry" }, entry: named("LogEntry"), cursor: text("Where to go on from.") },
    },
    {
      type: "object",
      required: ["type", "bytes", "cursor"],
      properties: { type: { type: "string", const: "gap" }, bytes: whole("What was missed."), cursor: text("Where to go on from.") },
    },
  ],
};

export const SCHEMAS = {
  ProcessRecord: PROCESS,
  StateRecord: STATE,
  LogEntry: LOG_ENTRY,
  LogItem: LOG_ITEM,
  LogSubmission: LOG_SUBMISSION,
  TelemetryReport: TELEMETRY_REPORT,
  Scaling: SCALING,
  MetricPoint: METRIC_POINT,
  Incident: INCIDENT,
  PluginRecord: PLUGIN,
  EventRecord: EVENT,
  PlanRecord: PLAN,
  Problem: PROBLEM,
} satisfies Readonly<Record<string, JsonSchema>>;
