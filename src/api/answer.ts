/** Writes answers: JSON, text, and errors as RFC 9457 has them. */
import type { ServerResponse } from "node:http";
import { ProcmanError } from "../base/errors.ts";
import type { ProblemRecord } from "../contract/records.ts";
import { titleOf } from "../contract/status.ts";
import { Refusal } from "./refusal.ts";

/** Nothing that is answered is for caches, and none of it is what a browser makes of it. */
const ALWAYS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** The text of an answer that is given again as it was: that of all processes, mostly. */
const written = new WeakMap<object, Buffer>();

export function sendJson(response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
  let bytes = written.get(body);
  if (bytes === undefined) {
    bytes = Buffer.from(JSON.stringify(body));
    written.set(body, bytes);
  }
  send(response, status, bytes, { "content-type": "application/json", ...headers });
}

export function sendText(response: ServerResponse, status: number, text: string, type: string): void {
  send(response, status, Buffer.from(text), { "content-type": type });
}

/** Begins a stream of events. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { ...ALWAYS, "content-type": "text/event-stream", "x-accel-buffering": "no" });
}

/** A bug is told to whoever runs procman, not to whoever asks. */
export function problemOf(error: unknown): ProblemRecord {
  if (!(error instanceof ProcmanError)) {
    process.stderr.write(`procman: this is a bug: ${error instanceof Error ? error.stack : String(error)}\n`);
    return problem(500, "internal", "Cannot answer: this is a bug in procman; its own output tells more");
  }
  const { status, code, message, faults } = error;
  return { ...problem(status, code, message), ...(faults.length === 0 ? {} : { problems: faults }) };
}

export function problem(status: number, code: string, detail: string): ProblemRecord {
  return { type: "about:blank", title: titleOf(status), status, detail, code };
}

export function sendProblem(response: ServerResponse, error: unknown): void {
  // Nobody is there any more, or the answer has begun.
  if (response.destroyed || response.headersSent) return void response.destroy();
  const body = problemOf(error);
  const headers = error instanceof Refusal ? error.headers : {};
  send(response, body.status, Buffer.from(JSON.stringify(body)), { "content-type": "application/problem+json", ...headers });
}

function send(response: ServerResponse, status: number, bytes: Buffer, headers: Readonly<Record<string, string>>): void {
  response.writeHead(status, { ...ALWAYS, ...headers, "content-length": bytes.length });
  response.end(bytes);
}
