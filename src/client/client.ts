/** `Control` over HTTP. Where requests go through is given, so that it works in browsers, too. */
import { ERRORS, type ErrorCode, ProcmanError } from "../base/errors.ts";
import type { Action, ActOptions, Control } from "../contract/control.ts";
import type { EventRecord, Incident, LogItem, LogPage, LogQuery, ProblemRecord, ProcessRecord, StateRecord } from "../contract/records.ts";
import { serverEvents } from "./sse.ts";

export type ClientRequest = {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The server answers only then. */
  readonly waitSeconds?: number;
};

type Head = { readonly status: number; readonly headers: Readonly<Record<string, string>> };

export type Transport = {
  /** Sends one request with the token; rejects when there is no answer. */
  readonly send: (request: ClientRequest) => Promise<Head & { readonly body: unknown }>;
  /** The same for an answer that goes on and on. It ends when the connection does. */
  readonly stream: (request: ClientRequest, signal: AbortSignal) => Promise<Head & { readonly text: AsyncIterable<string> }>;
};

type Spoken = "processes" | "process" | "state" | "act" | "terminate" | "logs" | "follow" | "incidents" | "events";

export class Client implements Pick<Control, Spoken> {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    return (await this.#ask("GET", "/processes")).body as readonly ProcessRecord[];
  }

  async process(id: string): Promise<ProcessRecord> {
    return (await this.#ask("GET", pathOf(id))).body as ProcessRecord;
  }

  async state(): Promise<StateRecord> {
    return (await this.#ask("GET", "/state")).body as StateRecord;
  }

  async act(id: string, action: Action, { waitSeconds }: ActOptions = {}): Promise<ProcessRecord> {
    const query = waitSeconds === undefined ? "" : `?wait=${waitSeconds}`;
    return (await this.#ask("POST", `${pathOf(id)}/${action}${query}`, waitSeconds)).body as ProcessRecord;
  }

  async terminate(): Promise<void> {
    await this.#ask("POST", "/terminate");
  }

  async logs(query: LogQuery): Promise<LogPage> {
    const { body, headers } = await this.#ask("GET", `/logs${searchOf(query)}`);
    const next = /<[^>]*[?&]cursor=([^&>]*)[^>]*>;\s*rel="?next"?/.exec(headers.link ?? "")?.[1];
    return { entries: body as LogPage["entries"], ...(next === undefined ? {} : { next: decodeURIComponent(next) }) };
  }

  async *follow(query: LogQuery, signal: AbortSignal): AsyncIterable<LogItem> {
    for await (const item of this.#events({ method: "GET", path: `/logs${searchOf(query, { follow: "1" })}` }, signal))
      yield item as LogItem;
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    const query = limit === undefined ? "" : `?limit=${limit}`;
    return (await this.#ask("GET", `${pathOf(id)}/incidents${query}`)).body as readonly Incident[];
  }

  async *events(after: string | undefined, signal: AbortSignal): AsyncIterable<EventRecord> {
    const headers = after === undefined ? {} : { "last-event-id": after };
    for await (const item of this.#events({ method: "GET", path: "/events", headers }, signal)) yield item as EventRecord;
  }

  async *#events(request: ClientRequest, signal: AbortSignal): AsyncIterable<unknown> {
    const { status, text } = await this.#transport.stream(request, signal);
    if (status >= 400) throw problemOf(status, await whole(text));
    for await (const { data } of serverEvents(text)) yield JSON.parse(data);
  }

  async #ask(method: "GET" | "POST", path: string, waitSeconds?: number): Promise<Head & { readonly body: unknown }> {
    const answer = await this.#transport.send({ method, path, ...(waitSeconds === undefined ? {} : { waitSeconds }) });
    if (answer.status >= 400) throw problemOf(answer.status, answer.body);
    return answer;
  }
}

function pathOf(id: string): string {
  return `/processes/${encodeURIComponent(id)}`;
}

function searchOf({ processes, categories, ...query }: LogQuery, more: Readonly<Record<string, string>> = {}): string {
  const single = Object.entries({ ...query, ...more }).map(([name, value]) => [name, String(value)] as [string, string]);
  const several = (name: string, values: readonly string[] = []): [string, string][] => values.map((value) => [name, value]);
  const text = new URLSearchParams([...several("process", processes), ...several("category", categories), ...single]).toString();
  return text === "" ? "" : `?${text}`;
}

async function whole(text: AsyncIterable<string>): Promise<unknown> {
  let all = "";
  for await (const part of text) all += part;
  return JSON.parse(all);
}

function problemOf(status: number, body: unknown): Error {
  const { code, detail } = body as ProblemRecord;
  return Object.hasOwn(ERRORS, code) ? new ProcmanError(code as ErrorCode, detail) : new Error(`${status} ${code}: ${detail}`);
}
