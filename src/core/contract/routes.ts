/** The table of routes, from which server, client, OpenAPI document and `docs/reference/api.md` are made. */
import { ProcmanError } from "../base/errors.ts";
import {
  ACTIONS,
  type Action,
  type ActOptions,
  type PlanOptions,
  type ProcessInput,
  type Scaling,
  type Signalling,
} from "./control.ts";
import type { SignInExchange, SignInOrder } from "./dashboard-access.ts";
import { DEPLOY_ROUTES } from "./deploy-routes.ts";
import type { EventType } from "./event-record.ts";
import { EXEC_ROUTES } from "./exec-routes.ts";
import { HISTORY_ROUTES } from "./history-routes.ts";
import {
  LOG_SUBMISSION,
  PROCESS_INPUT,
  SCALING,
  SIGN_IN_EXCHANGE,
  SIGN_IN_ORDER,
  SIGNALLING,
  TELEMETRY_REPORT,
} from "./input-schemas.ts";
import { serves } from "./process-health.ts";
import {
  EVENTS,
  FLUSH,
  HEALTH,
  INCIDENTS,
  LOGS,
  METRICS,
  type Parameters,
  type ParameterValues,
  PLAN,
  RELOAD,
  RESTART,
  RUNS,
  START,
  WAIT,
} from "./query.ts";
import type { LogQuery, LogSubmission, TelemetryReport } from "./records.ts";
import { ROLLOUT_ROUTES } from "./rollout-routes.ts";
import { Page, type Route } from "./route.ts";

const VERBS: Readonly<Record<Action, string>> = {
  start: "Start the process",
  stop: "Stop the process",
  restart: "Restart the process, a cluster instance by instance; start it if it isn't running",
  block: "Block the process: neither policy, schedule nor `start` starts it",
  unblock: "Lift a block",
  enable: "Let the process start by itself again: with procman, by schedule, and when watched files change",
  disable:
    "From now on, and when procman is started again, the process starts only by request; a running process keeps running",
};

/** Answer to clients without a token: it doesn't repeat the id, and is the same for an unknown one. */
const DOWN = "Cannot answer ok: no process of this id is running, ready and healthy";

const noParameters: Parameters = {};
const processOutput = { kind: "json", schema: "ProcessRecord" } as const;

function action(name: Action): Route {
  return {
    method: "POST",
    path: `/processes/{id}/${name}`,
    scope: "control",
    summary: VERBS[name],
    parameters: name === "start" ? START : name === "restart" ? RESTART : WAIT,
    status: 200,
    output: processOutput,
    errors: [404, 409, 504],
    answer: (control, { id, query, signal }) => {
      const { hard = false, withDependencies = false } = query as ParameterValues<typeof RESTART & typeof START>;
      return control.act(id, name, {
        ...waitOptions(query, signal),
        ...(hard && { hard }),
        ...(withDependencies && { withDependencies }),
      });
    },
  };
}

const actions = Object.fromEntries(ACTIONS.map((name) => [name, action(name)])) as Readonly<Record<Action, Route>>;

export const ROUTES = {
  processes: {
    method: "GET",
    path: "/processes",
    scope: "read",
    summary: "All processes with their states",
    parameters: noParameters,
    status: 200,
    output: { ...processOutput, list: true },
    errors: [],
    answer: (control) => control.processes(),
  },
  process: {
    method: "GET",
    path: "/processes/{id}",
    scope: "read",
    summary: "One process",
    parameters: noParameters,
    status: 200,
    output: processOutput,
    errors: [404],
    answer: (control, { id }) => control.process(id),
  },
  definitions: {
    method: "GET",
    path: "/processes/{id}/definition",
    scope: "admin",
    summary: "How the process is run, without secrets: command, folder, user, files, environment",
    parameters: noParameters,
    status: 200,
    output: { kind: "json", schema: "DefinitionRecord", list: true },
    errors: [404],
    answer: (control, { id }) => control.definitions(id),
  },
  ...actions,
  scale: {
    method: "POST",
    path: "/processes/{id}/scale",
    scope: "control",
    summary: "Give a cluster another number of instances",
    parameters: WAIT,
    body: { name: "Scaling", schema: SCALING },
    status: 200,
    output: processOutput,
    errors: [404, 409, 413, 415, 504],
    answer: (control, { id, query, body, signal }) => control.scale(id, body as Scaling, waitOptions(query, signal)),
  },
  signal: {
    method: "POST",
    path: "/processes/{id}/signal",
    scope: "control",
    summary: "Send a signal to the process, or to all running instances of a cluster",
    parameters: noParameters,
    body: { name: "Signalling", schema: SIGNALLING },
    status: 200,
    output: processOutput,
    errors: [404, 409, 413, 415],
    answer: (control, { id, body }) => control.signal(id, body as Signalling),
  },
  input: {
    method: "POST",
    path: "/processes/{id}/input",
    scope: "input",
    summary: "Write to the standard input of the process, which has `stdin: true` or `tty: true`",
    description:
      "All of it, or 409: `taken` is then the number of bytes that its pipe had room for. Lines of up to 4096 bytes are taken whole or not at all.",
    parameters: noParameters,
    body: { name: "ProcessInput", schema: PROCESS_INPUT },
    status: 200,
    output: { kind: "json", schema: "InputRecord" },
    errors: [404, 409, 413, 415],
    answer: (control, { id, body }) => control.input(id, body as ProcessInput),
  },
  screen: {
    method: "GET",
    path: "/processes/{id}/screen",
    scope: "input",
    summary: "What the process, which has `tty: true`, prints on its terminal, byte for byte",
    description: "From now on, also in its next runs. A reader who is too slow is disconnected (`events-lost`).",
    parameters: noParameters,
    lasts: true,
    status: 200,
    output: { kind: "stream", schema: "ScreenItem" },
    errors: [404, 409, 503],
    answer: (control, { id, signal }) => control.screen(id, signal),
  },
  ...EXEC_ROUTES,
  incidents: {
    method: "GET",
    path: "/processes/{id}/incidents",
    scope: "read",
    summary: "The ends of its runs, newest first",
    parameters: INCIDENTS,
    status: 200,
    output: { kind: "json", schema: "Incident", list: true },
    errors: [404],
    answer: (control, { id, query }) => control.incidents(id, (query as ParameterValues<typeof INCIDENTS>).limit),
  },
  runs: {
    method: "GET",
    path: "/processes/{id}/runs",
    scope: "read",
    summary: "Its runs, newest first: those that are not over, and the last 100 that have ended",
    description: 'The next page is in the header `Link: <…>; rel="next"`.',
    parameters: RUNS,
    status: 200,
    output: { kind: "json", schema: "RunSummary", list: true },
    errors: [404],
    answer: async (control, { id, query }) => {
      const { runs, next } = await control.runs(id, query as ParameterValues<typeof RUNS>);
      return new Page(runs, next);
    },
  },
  metrics: {
    method: "GET",
    path: "/processes/{id}/metrics",
    scope: "read",
    summary: "CPU and memory over time",
    parameters: METRICS,
    status: 200,
    output: { kind: "json", schema: "MetricPoint", list: true },
    errors: [404],
    answer: (control, { id, query }) => {
      const { step, ...times } = query as ParameterValues<typeof METRICS>;
      return control.metrics(id, { ...times, ...(step === undefined ? {} : { stepSeconds: step }) });
    },
  },
  state: {
    method: "GET",
    path: "/state",
    scope: "read",
    summary: "State of procman itself",
    parameters: noParameters,
    status: 200,
    output: { kind: "json", schema: "StateRecord" },
    errors: [],
    answer: (control) => control.state(),
  },
  telemetry: {
    method: "POST",
    path: "/telemetry",
    scope: "telemetry",
    summary: "Report numbers of a process about itself",
    parameters: noParameters,
    body: { name: "TelemetryReport", schema: TELEMETRY_REPORT, maxBytes: 16_384 },
    rate: { requests: { burst: 100, perSecond: 10 }, bytes: { burst: 262_144, perSecond: 65_536 } },
    status: 200,
    output: { kind: "json" },
    errors: [404, 413, 415],
    answer: (control, { body }) => control.telemetry(body as TelemetryReport),
  },
  log: {
    method: "POST",
    path: "/log",
    scope: "log",
    summary: "Add a line to the log",
    parameters: noParameters,
    // 64 KiB of text of which JSON escapes each character.
    body: { name: "LogSubmission", schema: LOG_SUBMISSION, maxBytes: 400_000 },
    rate: { requests: { burst: 500, perSecond: 100 }, bytes: { burst: 1_000_000, perSecond: 1_000_000 } },
    status: 201,
    output: { kind: "json", schema: "LogEntry" },
    errors: [404, 413, 415, 503],
    answer: (control, { body }) => control.log(body as LogSubmission),
  },
  logs: {
    method: "GET",
    path: "/logs",
    scope: "read",
    summary: "Lines of the log",
    description: 'The next page is in the header `Link: <…>; rel="next"`.',
    parameters: LOGS,
    status: 200,
    output: { kind: "json", schema: "LogEntry", list: true },
    errors: [404],
    answer: async (control, { query }) => {
      const { entries, next } = await control.logs(logQuery(query));
      return new Page(entries, next);
    },
    follow: {
      output: { kind: "stream", schema: "LogItem" },
      answer: (control, { query, lastEventId, signal }) =>
        control.follow({ ...logQuery(query), ...(lastEventId === undefined ? {} : { cursor: lastEventId }) }, signal),
    },
  },
  flush: {
    method: "POST",
    path: "/logs/flush",
    scope: "admin",
    summary: "Empty the log files of processes, and without `process` the stored log of all",
    parameters: FLUSH,
    status: 200,
    output: { kind: "json", schema: "FlushRecord" },
    errors: [404, 409, 503],
    answer: (control, { query }) => control.flush((query as ParameterValues<typeof FLUSH>).process),
  },
  events: {
    method: "GET",
    path: "/events",
    scope: "read",
    summary: "Events, as a stream",
    parameters: EVENTS,
    status: 200,
    output: { kind: "stream", schema: "EventRecord" },
    errors: [],
    answer: (control, { query: { after, types }, lastEventId, signal }) =>
      control.events(lastEventId ?? (after as string | undefined), signal, types as readonly EventType[] | undefined),
  },
  plan: {
    method: "GET",
    path: "/plan",
    scope: "admin",
    orScope: "reload",
    summary: "What a reload of the configuration file would do",
    parameters: PLAN,
    status: 200,
    output: { kind: "json", schema: "PlanRecord" },
    errors: [409],
    answer: (control, { query }) => control.plan(profileIn(query)),
  },
  reload: {
    method: "POST",
    path: "/reload",
    scope: "admin",
    orScope: "reload",
    summary: "Apply the changed configuration file, or another profile of it",
    description:
      "All or nothing: an invalid file (400) changes nothing, and if an instance of a cluster doesn't come up (409), everything is rolled back.",
    parameters: RELOAD,
    status: 200,
    output: { kind: "json", schema: "PlanRecord" },
    errors: [409, 504],
    answer: (control, { query, signal }) => control.reload({ ...waitOptions(query, signal), ...profileIn(query) }),
  },
  ...HISTORY_ROUTES,
  ...DEPLOY_ROUTES,
  ...ROLLOUT_ROUTES,
  terminate: {
    method: "POST",
    path: "/terminate",
    scope: "admin",
    summary: "Stop everything and end",
    parameters: noParameters,
    status: 202,
    output: { kind: "json" },
    errors: [],
    answer: (control) => control.terminate(),
  },
  prometheus: {
    method: "GET",
    path: "/metrics",
    scope: "read",
    summary: "All metrics in the Prometheus text format",
    parameters: noParameters,
    status: 200,
    output: { kind: "text", type: "text/plain; version=0.0.4; charset=utf-8" },
    errors: [],
    answer: (control) => control.prometheus(),
  },
  openapi: {
    method: "GET",
    path: "/openapi.json",
    scope: "read",
    summary: "This API as an OpenAPI 3.1 document",
    parameters: noParameters,
    status: 200,
    output: { kind: "json" },
    errors: [],
    answer: async (): Promise<unknown> => (await import("./openapi.ts")).openApi(ROUTES),
  },
  health: {
    method: "GET",
    path: "/health",
    summary: "Whether the API answers, or a process is up",
    parameters: HEALTH,
    status: 200,
    output: { kind: "text", type: "text/plain; charset=utf-8" },
    errors: [400, 403, 503],
    answer: async (control, { query }) => {
      const { process } = query as ParameterValues<typeof HEALTH>;
      if (process !== undefined && !serves(await control.processes(), process))
        throw new ProcmanError("process-down", DOWN);
      return "ok\n";
    },
  },
  dashboard: {
    method: "GET",
    path: "/",
    summary: "The dashboard, a page for browsers",
    parameters: noParameters,
    status: 200,
    output: { kind: "file", type: "text/html" },
    errors: [403, 404],
    answer: async (_, { dashboard }) => (await dashboard()).page(),
  },
  asset: {
    method: "GET",
    path: "/assets/{id}",
    idMeaning: "Name of a file, as the page has it.",
    summary: "A file of the dashboard",
    parameters: noParameters,
    status: 200,
    output: { kind: "file", type: "*/*" },
    errors: [403, 404],
    answer: async (_, { id, dashboard }) => (await dashboard()).asset(id),
  },
  code: {
    method: "POST",
    path: "/dashboard/code",
    scope: "admin",
    summary: "Make a one-time code for a link to the dashboard",
    parameters: noParameters,
    body: { name: "SignInOrder", schema: SIGN_IN_ORDER, maxBytes: 1_024 },
    status: 200,
    output: { kind: "json", schema: "SignInCode" },
    errors: [413, 415],
    answer: async (_, { body, dashboard }) => (await dashboard()).makeCode(body as SignInOrder),
  },
  exchange: {
    method: "POST",
    path: "/dashboard/token",
    summary: "Exchange a one-time code for a token; within 30 s, once",
    parameters: noParameters,
    body: { name: "SignInExchange", schema: SIGN_IN_EXCHANGE, maxBytes: 1_024 },
    status: 200,
    output: { kind: "json", schema: "SignInToken" },
    errors: [400, 401, 403, 413, 415],
    answer: async (_, { body, dashboard }) => (await dashboard()).exchange(body as SignInExchange),
  },
} as const satisfies Readonly<Record<string, Route>>;

export type RouteName = keyof typeof ROUTES;

function waitOptions(query: Readonly<Record<string, unknown>>, signal: AbortSignal): ActOptions {
  const { wait } = query as ParameterValues<typeof WAIT>;
  return wait === undefined ? {} : { waitSeconds: wait, signal };
}

function profileIn(query: Readonly<Record<string, unknown>>): PlanOptions {
  const { profile } = query as ParameterValues<typeof PLAN>;
  return profile === undefined ? {} : { profile: profile === "" ? null : profile };
}

function logQuery(query: Readonly<Record<string, unknown>>): LogQuery {
  const { process, category, follow: _follow, ...rest } = query as ParameterValues<typeof LOGS>;
  return {
    ...(rest as LogQuery),
    ...(process === undefined ? {} : { processes: process }),
    ...(category === undefined ? {} : { categories: category as NonNullable<LogQuery["categories"]> }),
  };
}
