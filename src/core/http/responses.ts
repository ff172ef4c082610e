/** Sends answers: JSON, text, and errors according to RFC 9457. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { ERRORS, type ErrorCode, ProcmanError, reasonOf } from "../base/errors.ts";
import type { DashboardFile } from "../contract/dashboard-access.ts";
import { reasonPhrase } from "../contract/http-status.ts";
import type { ProblemRecord } from "../contract/records.ts";
import { errorLine } from "../os/error-output.ts";

/** No answer may be cached, or interpreted as another type. */
const ALWAYS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** What another attempt may do. Seconds. */
const RETRY: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "log-unavailable": { "retry-after": "1" },
  "service-down": { "retry-after": "0", connection: "close" },
};

/** Serialized answers that may be sent again, mostly that of all processes. */
const written = new WeakMap<object, Buffer>();

export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
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

/** Takes Brotli, as browsers do for HTTPS and this machine. */
const BROTLI = /(?:^|[\s,])br\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i;

export async function sendFile(request: IncomingMessage, response: ServerResponse, file: DashboardFile): Promise<void> {
  const headers = { vary: "accept-encoding", ...file.headers };
  const isTaken = BROTLI.test(String(request.headers["accept-encoding"] ?? ""));
  if (isTaken) send(response, 200, Buffer.from(file.brotli), { ...headers, "content-encoding": "br" });
  else send(response, 200, Buffer.from(await file.plain()), headers);
}

/** Starts a stream of events. */
export function beginStream(response: ServerResponse): void {
  response.writeHead(200, { ...ALWAYS, "content-type": "text/event-stream", "x-accel-buffering": "no" });
}

/** Converts an error for the client. A bug is written to standard error, and its details are not sent. */
export function problemOf(error: unknown): ProblemRecord {
  if (["EMFILE", "ENFILE"].includes((error as NodeJS.ErrnoException).code ?? "")) {
    const remedy = 'start procman with a higher "ulimit -n" (LimitNOFILE= in a systemd unit)';
    return problem(
      ERRORS["resources-short"].status,
      "resources-short",
      `Cannot answer now: ${reasonOf(error)}; ${remedy}`,
    );
  }
  if (!(error instanceof ProcmanError)) {
    process.stderr.write(errorLine(`this is a bug: ${error instanceof Error ? error.stack : String(error)}`));
    return problem(500, "internal", "Cannot answer: this is a bug in procman; see its own output");
  }
  const { status, code, message, faults, processes, taken } = error;
  return {
    ...problem(status, code, message),
    ...(faults.length > 0 && { problems: faults }),
    ...(processes.length > 0 && { processes }),
    ...(taken !== undefined && { taken }),
  };
}

export function problem(status: number, code: string, detail: string): ProblemRecord {
  return { type: "about:blank", title: reasonPhrase(status), status, detail, code };
}

export function sendProblem(response: ServerResponse, error: unknown): void {
  // The client has disconnected, or the answer has begun.
  if (response.destroyed || response.headersSent) return void response.destroy();
  const body = problemOf(error);
  const headers = error instanceof HttpError ? error.headers : RETRY[body.code];
  send(response, body.status, Buffer.from(JSON.stringify(body)), {
    "content-type": "application/problem+json",
    ...headers,
  });
}

function send(
  response: ServerResponse,
  status: number,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, { ...ALWAYS, ...headers, "content-length": bytes.length });
  response.end(bytes);
}

/** An error whose answer has additional headers. */
export class HttpError extends ProcmanError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>>) {
    super(code, message);
    this.headers = headers;
  }
}
