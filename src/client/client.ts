/** `Control` over HTTP. */
import type { Action, ActOptions, Control, PlanOptions, Scaling, Signalling } from "../contract/control.ts";
import type { SignInCode, SignInOrder } from "../contract/dashboard-access.ts";
import type { DefinitionRecord } from "../contract/definition-record.ts";
import type { EventRecord, EventType } from "../contract/event-record.ts";
import type { PlanRecord } from "../contract/plan.ts";
import { writeQuery } from "../contract/query.ts";
import type {
  FlushRecord,
  Incident,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  RunPage,
  RunQuery,
  RunSummary,
  TelemetryReport,
} from "../contract/records.ts";
import { ROUTES, type RouteName } from "../contract/routes.ts";
import type { StateRecord } from "../contract/state-record.ts";
import { type StreamObserver, subscribe } from "./subscription.ts";
import { errorOf, type Reply, type SendRequest } from "./transport.ts";

type Query = Parameters<typeof writeQuery>[0];

type Details = { readonly id?: string; readonly query?: Query; readonly body?: object; readonly options?: ActOptions };

/**
 * Controls a running procman over HTTP. The transport is a parameter, so the client also works in browsers.
 *
 * Every method rejects with a `ProcmanError`, whose `code` names the case, or with the error of the transport.
 *
 * @example
 * const control = new Client(fetchSend({ url: "http://127.0.0.1:9000", token }));
 * await control.act("web", "restart", { waitSeconds: 30 });
 */
export class Client implements Control {
  readonly #send: SendRequest;
  readonly #observer: StreamObserver | undefined;

  /** `observer`: of the stream of events. */
  constructor(send: SendRequest, observer?: StreamObserver) {
    this.#send = send;
    this.#observer = observer;
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
    return (await this.#ask("scale", { id, query: { wait: options.waitSeconds }, body: scaling, options })) as ProcessRecord;
  }

  async signal(id: string, signalling: Signalling): Promise<ProcessRecord> {
    return (await this.#ask("signal", { id, body: signalling })) as ProcessRecord;
  }

  async plan(options: PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#ask("plan", { query: profileQuery(options) })) as PlanRecord;
  }

  async reload(options: ActOptions & PlanOptions = {}): Promise<PlanRecord> {
    return (await this.#ask("reload", { query: { wait: options.waitSeconds, ...profileQuery(options) }, options })) as PlanRecord;
  }

  async terminate(): Promise<void> {
    await this.#ask("terminate");
  }

  async logs(query: LogQuery): Promise<LogPage> {
    const reply = await this.#reply("logs", { query: logQuery(query) });
    const next = nextOf(reply.headers.get("link"));
    const entries = JSON.parse(await reply.text()) as readonly LogEntry[];
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
    const runs = JSON.parse(await reply.text()) as readonly RunSummary[];
    return next === undefined ? { runs } : { runs, next };
  }

  async prometheus(): Promise<string> {
    return (await this.#reply("prometheus", {})).text();
  }

  events(after: string | undefined, signal: AbortSignal, types?: readonly EventType[]): AsyncIterable<EventRecord> {
    return this.#subscribe("events", { after, types }, signal) as AsyncIterable<EventRecord>;
  }

  /** A one-time code for a link to the dashboard: `URL/#code=CODE`. */
  async dashboardCode(order: SignInOrder = {}): Promise<SignInCode> {
    return (await this.#ask("code", { body: order })) as SignInCode;
  }

  #subscribe(name: RouteName, query: Query, signal: AbortSignal): AsyncIterable<unknown> {
    const observer = name === "events" ? this.#observer : undefined;
    return subscribe({ send: this.#send, path: `${ROUTES[name].path}${writeQuery(query)}`, signal, observer });
  }

  async #ask(name: RouteName, details: Details = {}): Promise<unknown> {
    return JSON.parse(await (await this.#reply(name, details)).text()) as unknown;
  }

  async #reply(name: RouteName, { id = "", query = {}, body, options = {} }: Details): Promise<Reply> {
    const { method, path } = ROUTES[name];
    const { waitSeconds, signal } = options;
    const reply = await this.#send({
      method,
      path: `${path.replace("{id}", encodeURIComponent(id))}${writeQuery(query)}`,
      headers: { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      ...(waitSeconds === undefined ? {} : { patienceSeconds: waitSeconds }),
    });
    if (reply.status < 400) return reply;
    throw errorOf(reply.status, await reply.text());
  }
}

/** Empty: no profile. */
function profileQuery({ profile }: PlanOptions): Query {
  return { profile: profile === null ? "" : profile };
}

function logQuery({ processes, categories, ...rest }: LogQuery): Query {
  return { ...rest, process: processes, category: categories };
}

/** Cursor of the next page, from a `Link` header. */
function nextOf(link: string | null): string | undefined {
  const target = /<([^>]*)>;\s*rel="next"/.exec(link ?? "")?.[1];
  return target === undefined ? undefined : (new URLSearchParams(target.slice(target.indexOf("?") + 1)).get("cursor") ?? undefined);
}
