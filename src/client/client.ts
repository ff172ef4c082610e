/** `Control` over HTTP. Where requests go through is given, so that it works in browsers, too. */
import { ERRORS, type ErrorCode, ProcmanError } from "../base/errors.ts";
import type { Action, Control } from "../contract/control.ts";
import type { ProblemRecord, ProcessRecord, StateRecord } from "../contract/records.ts";

/** Sends one request with the token; rejects when there is no answer. */
export type Send = (method: "GET" | "POST", path: string) => Promise<{ readonly status: number; readonly body: unknown }>;

export class Client implements Pick<Control, "processes" | "process" | "state" | "act" | "terminate"> {
  readonly #send: Send;

  constructor(send: Send) {
    this.#send = send;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    return (await this.#ask("GET", "/processes")) as readonly ProcessRecord[];
  }

  async process(id: string): Promise<ProcessRecord> {
    return (await this.#ask("GET", `/processes/${encodeURIComponent(id)}`)) as ProcessRecord;
  }

  async state(): Promise<StateRecord> {
    return (await this.#ask("GET", "/state")) as StateRecord;
  }

  async act(id: string, action: Action): Promise<ProcessRecord> {
    return (await this.#ask("POST", `/processes/${encodeURIComponent(id)}/${action}`)) as ProcessRecord;
  }

  async terminate(): Promise<void> {
    await this.#ask("POST", "/terminate");
  }

  async #ask(method: "GET" | "POST", path: string): Promise<unknown> {
    const { status, body } = await this.#send(method, path);
    if (status < 400) return body;
    const { code, detail } = body as ProblemRecord;
    throw Object.hasOwn(ERRORS, code) ? new ProcmanError(code as ErrorCode, detail) : new Error(`${status} ${code}: ${detail}`);
  }
}
