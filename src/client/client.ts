/** `Control` over HTTP. */
import { compact } from "../core/base/compact.ts";
import { ProcmanError } from "../core/base/errors.ts";
import type {
  Action,
  ActOptions,
  Control,
  DeploymentQuery,
  PlanOptions,
  ProcessInput,
  RollbackOptions,
  Scaling,
  Signalling,
} from "../core/contract/control.ts";
import type { SignInCode, SignInOrder } from "../core/contract/dashboard-access.ts";
import type { DefinitionRecord } from "../core/contract/definition-record.ts";
import type { DeploymentRecord, DeployOrder, ReleaseRecord } from "../core/contract/deployment-record.ts";
import type { EventRecord, EventType } from "../core/contract/event-record.ts";
import {
  type ExecInput,
  type ExecItem,
  type ExecLaunch,
  type ExecOrder,
  type ExecRecord,
  executed,
  type LaunchOrder,
} from "../core/contract/execution.ts";
import { unknownProcess } from "../core/contract/groups.ts";
import type { HistoryDetail, HistoryDiff, HistoryEntry, RollbackRecord } from "../core/contract/history-record.ts";
import type { PlanRecord } from "../core/contract/plan.ts";
import { writeQuery } from "../core/contract/query.ts";
import type {
  FlushRecord,
  InputRecord,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  TelemetryReport,
} from "../core/contract/records.ts";
import type { RolloutOrder, RolloutRecord, RolloutStep } from "../core/contract/rollout-record.ts";
import { ROUTES, type RouteName } from "../core/contract/routes.ts";
import type { Incident, RunPage, RunQuery, RunSummary } from "../core/contract/run-summary.ts";
import type { ScreenItem } from "../core/contract/screen.ts";
import type { StateRecord } from "../core/contract/state-record.ts";
import { EventParser } from "./sse-parser.ts";
import { itemsOf, type StreamObserver, subscribe } from "./subscription.ts";
import { errorOf, type Reply, type SendRequest } from "./transport.ts";

type Query = Parameters<typeof writeQuery>[0];

/** Throws if a value is not an answer, or item of a stream, of this route. */
export type AnswerCheck = (route: string, value: unknown, isItem?: boolean) => void;

type Details = {
  readonly id?: string;
  readonly query?: Query;
  readonly body?: object;
  readonly options?: ActOptions;
  readonly accept?: string;
};

const NEVER = new AbortController().signal;

/** A large release is checked before the answer. Seconds. */
const CHECK_SECONDS = 300;
/** A command may write nothing for so long, and its reader may pause. Seconds. */
const EXEC_PATIENCE_SECONDS = 86_400;

/**
 * Controls a running procman over HTTP. The transport is a parameter, so the client also works in browsers.
 *
 * Every method rejects with a `ProcmanError`, whose `code` names the case, or with the error of the transport.
 *
 * @example
 * const control = connect({ url: "http://127.0.0.1:9000", token });
 * await control.act("web", "restart", { waitSeconds: 30 });
 */
export class Client implements Control {
  readonly #send: SendRequest;
  readonly #observer: StreamObserver | undefined;
  readonly #check: AnswerCheck;

  /** `observer`: of the stream of events. `check`: of each answer of a server that isn't trusted. */
  constructor(send: SendRequest, observer?: StreamObserver, check: AnswerCheck = () => undefined) {
    this.#send = send;
    this.#observer = observer;
    this.#check = check;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    return (await this.#ask("processes")) as readonly ProcessRecord[];
  }

  async process(id: string): Promise<ProcessRecord> {
    return (await this.#ask("process", { id })) as ProcessRecord;
  }

  async definitions(id: string): Promise<readonly DefinitionRecord[]> {
    return (await this.#ask("definitions", { id })) as readonly DefinitionRecord[];
  }

  async state(): Promise<StateRecord> {
    return (await this.#ask("state")) as StateRecord;
  }

  async act(id: string, action: Action, options: ActOptions = {}): Promise<ProcessRecord> {
    return (await this.#ask(action, {
      id,
      query: {
        wait: options.waitSeconds,
        ...(options.hard && { hard: true }),
        ...(options.withDependencies && { withDependencies: true }),
      },
      options,
    })) as ProcessRecord;
  }

  async scale(id: string, scaling: Scaling, options: ActOptions = {}): Promise<ProcessRecord> {
    return (await this.#ask("scale", {
      id,
      query: { wait: options.waitSeconds },
      body: scaling,
      options,
    })) as ProcessRecord;
  }

  async signal(id: string, signalling: Signalling): Promise<ProcessRecord> {
    return (await this.#ask("signal", { id, body: signalling })) as ProcessRecord;
  }

  /**
   * Types into a process: writes to its standard input, which `"stdin": true` keeps open. A full pipe rejects with
   * `input-full`, whose `taken` says how many bytes were taken.
   *
   * @example
   * const control = connect({ url: "http://127.0.0.1:9000", token });
   * await control.input("game", { text: "save-all\n" });
   */
  async input(id: string, input: ProcessInput): Promise<InputRecord> {
    return (await this.#ask("input", { id, body: input })) as InputRecord;
  }

  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#ask("plan", { query: profileQuery(options) })) as PlanRecord;
  }

  async reload(options: ActOptions & PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#ask("reload", {
      query: { wait: options.waitSeconds, ...profileQuery(options) },
      options,
    })) as PlanRecord;
  }

  async history(limit?: number): Promise<readonly HistoryEntry[]> {
    return (await this.#ask("history", { query: { limit } })) as readonly HistoryEntry[];
  }

  async historyEntry(entry: string): Promise<HistoryDetail> {
    return (await this.#ask("entry", { id: entry })) as HistoryDetail;
  }

  async diff(from: string, to?: string): Promise<HistoryDiff> {
    return (await this.#ask("diff", { id: from, query: { to } })) as HistoryDiff;
  }

  async rollback(to?: string, options: RollbackOptions = {}): Promise<RollbackRecord> {
    return (await this.#ask("rollback", {
      query: {
        ...{ to, wait: options.waitSeconds },
        ...(options.force && { force: true }),
        ...(options.dryRun && { dryRun: true }),
      },
      options,
    })) as RollbackRecord;
  }

  async releases(): Promise<readonly ReleaseRecord[]> {
    return (await this.#ask("releases")) as readonly ReleaseRecord[];
  }

  async deploy(order: DeployOrder): Promise<DeploymentRecord> {
    return (await this.#ask("deploy", { body: order, options: { waitSeconds: CHECK_SECONDS } })) as DeploymentRecord;
  }

  async deployment(id: string, { after, ...options }: DeploymentQuery = {}): Promise<DeploymentRecord> {
    const query = { after, wait: options.waitSeconds };
    return (await this.#ask("deployment", { id, query, options })) as DeploymentRecord;
  }

  async rollout({ after, ...options }: DeploymentQuery = {}): Promise<RolloutRecord> {
    const query = { after, wait: options.waitSeconds };
    return (await this.#ask("rollout", { query, options })) as RolloutRecord;
  }

  async joinRollout(order: RolloutOrder): Promise<RolloutRecord> {
    return (await this.#ask("join", { body: order })) as RolloutRecord;
  }

  async stepRollout(step: RolloutStep): Promise<RolloutRecord> {
    return (await this.#ask("step", { body: step })) as RolloutRecord;
  }

  async terminate(): Promise<void> {
    await this.#ask("terminate");
  }

  async logs(query: LogQuery): Promise<LogPage> {
    const reply = await this.#reply("logs", { query: logQuery(query) });
    const next = nextOf(reply.headers.get("link"));
    const entries = (await this.#read("logs", reply)) as readonly LogEntry[];
    return next === undefined ? { entries } : { entries, next };
  }

  follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    return this.#subscribe("logs", { ...logQuery(query), follow: true }, signal) as AsyncIterable<LogItem>;
  }

  async flush(ids?: readonly string[]): Promise<FlushRecord> {
    return (await this.#ask("flush", { query: { process: ids } })) as FlushRecord;
  }

  async log(submission: LogSubmission): Promise<LogEntry> {
    return (await this.#ask("log", { body: submission })) as LogEntry;
  }

  async telemetry(report: TelemetryReport): Promise<void> {
    await this.#ask("telemetry", { body: report });
  }

  async metrics(id: string, { from, to, stepSeconds }: MetricQuery): Promise<readonly MetricPoint[]> {
    return (await this.#ask("metrics", { id, query: { from, to, step: stepSeconds } })) as readonly MetricPoint[];
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    return (await this.#ask("incidents", { id, query: { limit } })) as readonly Incident[];
  }

  async runs(id: string, query: RunQuery = {}): Promise<RunPage> {
    const reply = await this.#reply("runs", { id, query });
    const next = nextOf(reply.headers.get("link"));
    const runs = (await this.#read("runs", reply)) as readonly RunSummary[];
    return next === undefined ? { runs } : { runs, next };
  }

  async prometheus(): Promise<string> {
    return (await this.#reply("prometheus", {})).text();
  }

  screen(id: string, signal: AbortSignal): AsyncIterable<ScreenItem> {
    return this.#subscribe("screen", {}, signal, id) as AsyncIterable<ScreenItem>;
  }

  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord> {
    return this.#subscribe("events", { after, types }, signal) as AsyncIterable<EventRecord>;
  }

  /**
   * Executes a command with user, folder, environment, secrets and limits of a process, and resolves when it has ended.
   * It is ended when the signal is aborted. Rejects with `exec-refused` (`api.exec` is not true), `exec-failed`,
   * `process-unknown`, `scope-missing`.
   *
   * @example
   * const control = connect({ url: "http://127.0.0.1:9000", token });
   * const { code, stdout } = await control.exec("web", { command: ["node", "migrate.js"] });
   */
  exec(id: string, order: ExecOrder, signal: AbortSignal = NEVER): Promise<ExecRecord> {
    return executed(this.execute(id, { stdin: "", ...order }, signal));
  }

  /** The same as it happens: what the command writes, and its end. Without `stdin` in the order, `write` gives it input. */
  async *execute(id: string, order: ExecOrder, signal: AbortSignal): AsyncGenerator<ExecItem, void, undefined> {
    const reply = await this.#reply("exec", {
      id,
      query: { follow: true },
      body: order,
      options: { signal, waitSeconds: EXEC_PATIENCE_SECONDS },
      accept: "text/event-stream",
    });
    for await (const item of itemsOf(reply, new EventParser())) {
      this.#check("exec", item, true);
      yield item as ExecItem;
    }
  }

  /** Writes to the standard input of a command, and resolves when that has room for more. */
  async write(session: string, input: ExecInput): Promise<void> {
    await this.#ask("stdin", { id: session, body: input });
  }

  /** How a command is started by the caller itself: for `procman exec`, on its terminal. */
  async launch(id: string, order: LaunchOrder): Promise<ExecLaunch> {
    return (await this.#ask("launch", { id, body: order })) as ExecLaunch;
  }

  /** A one-time code for a link to the dashboard: `URL/#code=CODE`. */
  async dashboardCode(order: SignInOrder = {}): Promise<SignInCode> {
    return (await this.#ask("code", { body: order })) as SignInCode;
  }

  async *#subscribe(
    name: RouteName,
    query: Query,
    signal: AbortSignal,
    id = "",
  ): AsyncGenerator<unknown, void, undefined> {
    const observer = name === "events" ? this.#observer : undefined;
    for await (const item of subscribe({
      send: this.#send,
      path: `${pathOf(name, id)}${writeQuery(query)}`,
      signal,
      observer,
    })) {
      this.#check(name, item, true);
      yield item;
    }
  }

  async #ask(name: RouteName, details: Details = {}): Promise<unknown> {
    return this.#read(name, await this.#reply(name, details));
  }

  async #read(name: RouteName, reply: Reply): Promise<unknown> {
    const value = jsonIn(await reply.text());
    this.#check(name, value);
    return value;
  }

  async #reply(
    name: RouteName,
    { id = "", query = {}, body, options = {}, accept = "application/json" }: Details,
  ): Promise<Reply> {
    const { method } = ROUTES[name];
    const { waitSeconds, signal } = options;
    const reply = await this.#send(
      compact({
        method,
        path: `${pathOf(name, id)}${writeQuery(query)}`,
        headers: { accept, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal,
        patienceSeconds: waitSeconds,
      }),
    );
    if (reply.status < 400) return reply;
    throw errorOf(reply.status, await reply.text());
  }
}

/** @throws {ProcmanError} `service-down` */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new ProcmanError(
      "service-down",
      `Cannot understand the answer: it is not JSON: ${JSON.stringify(text.slice(0, 100))}`,
      { cause },
    );
  }
}

/** @throws {ProcmanError} `process-unknown`: an empty id would make the path of another route */
function pathOf(name: RouteName, id: string): string {
  const { path } = ROUTES[name];
  if (id === "" && path.startsWith("/processes/{id}")) throw unknownProcess(id, [], []);
  return path.replace("{id}", encodeURIComponent(id));
}

/** Empty: no profile. */
function profileQuery({ profile }: PlanOptions): Query {
  return { profile: profile === null ? "" : profile };
}

function logQuery({ processes, categories, ...rest }: LogQuery): Query {
  return { ...rest, process: processes, category: categories };
}

/** Cursor of the next page, from a `Link` header. */
export function nextOf(link: string | null): string | undefined {
  const target = /<([^<>]*)>;\s*rel="next"/.exec(link ?? "")?.[1];
  return target === undefined
    ? undefined
    : (new URLSearchParams(target.slice(target.indexOf("?") + 1)).get("cursor") ?? undefined);
}
