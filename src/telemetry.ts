/**
 * `procman/telemetry`: lets a Node program that runs under procman report its memory and its own metrics.
 *
 * It never throws, never keeps a program alive, warns of `metrics` that are no function, and does nothing when procman is not running or didn't start the
 * program.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { request } from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";

export type ReporterOptions = {
  /** Seconds between two reports, at least 1. Default: 10. */
  readonly everySeconds?: number;
  /** The program's own metrics, by name. Errors that it throws are ignored. */
  readonly metrics?: () => Readonly<Record<string, number>>;
};

export type Reporter = {
  readonly stop: () => void;
};

export type ReportedSeverity = "debug" | "info" | "warn" | "error";

type ReportAddress =
  | { readonly hostname: string; readonly port: number; readonly isTls: boolean }
  | { readonly socketPath: string };

type PublishedEndpoint = {
  readonly hostname?: unknown;
  readonly port?: unknown;
  readonly pid?: unknown;
  readonly startTime?: unknown;
  readonly socket?: unknown;
  readonly problem?: unknown;
  readonly tls?: unknown;
};

const DEFAULT_SECONDS = 10;
const TIMEOUT_MS = 5_000;
const NO_FUNCTION =
  "reportTelemetry reports no metrics: expected a function, as in { metrics: () => ({ queue: jobs.length }) }";
/** Longest path of a Unix socket. */
const MAX_SOCKET_BYTES = 103;
const OTHERS_WRITE = 0o022;
/** Longest interval of reports while procman doesn't answer. */
const LONGEST_INTERVAL_MS = 300_000;

/**
 * Reports at intervals until `stop` is called.
 *
 * @example
 * import { reportTelemetry } from "procman/telemetry";
 * reportTelemetry({ metrics: () => ({ queue: jobs.length }) });
 */
export function reportTelemetry({ everySeconds = DEFAULT_SECONDS, metrics }: ReporterOptions = {}): Reporter {
  if (metrics !== undefined && typeof metrics !== "function") process.emitWarning(NO_FUNCTION);
  const everyMs = Math.max(1, Number.isFinite(everySeconds) ? everySeconds : DEFAULT_SECONDS) * 1_000;
  let timer: NodeJS.Timeout | undefined;
  let failures = 0;
  let isStopped = !isUnderProcman();
  const report = async (): Promise<void> => {
    failures = (await post("/telemetry", bodyOf(metrics), (socket) => socket.unref())) ? 0 : failures + 1;
    if (!isStopped)
      timer = setTimeout(
        report,
        Math.max(everyMs, Math.min(LONGEST_INTERVAL_MS, everyMs * 2 ** Math.min(failures, 20))),
      ).unref();
  };
  if (!isStopped) timer = setTimeout(report, 0).unref();
  return {
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Writes a line to procman's log. Resolves with whether procman has accepted it; keeps the program alive until then, a few seconds at most. */
export async function log(text: string, severity: ReportedSeverity = "info"): Promise<boolean> {
  return isUnderProcman() && post("/log", { text: String(text), severity, process: process.env.PROCMAN_PROCESS_ID });
}

function bodyOf(metrics: ReporterOptions["metrics"]): object {
  const { rss, heapTotal, heapUsed, external } = process.memoryUsage();
  return {
    process: process.env.PROCMAN_PROCESS_ID,
    memory: { rss, heapTotal, heapUsed, external },
    cwd: workingDirectory(),
    sent: new Date().toISOString(),
    ...metricsOf(metrics),
  };
}

function metricsOf(metrics: ReporterOptions["metrics"]): object {
  try {
    const numbers = Object.entries(metrics?.() ?? {}).filter(([, value]) => Number.isFinite(value));
    return numbers.length === 0 ? {} : { metrics: Object.fromEntries(numbers) };
  } catch {
    return {};
  }
}

/** The working directory; "" if it was removed. */
function workingDirectory(): string {
  try {
    return process.cwd();
  } catch {
    return "";
  }
}

function isUnderProcman(): boolean {
  const { PROCMAN_API_TOKEN: token, PROCMAN_PROCESS_ID: id } = process.env;
  return token !== undefined && token !== "" && id !== undefined && id !== "";
}

/** The present address of the API: it may listen later than the program starts, and elsewhere when procman is started again. */
function addressNow(): ReportAddress | undefined {
  const {
    PROCMAN_DATA_DIR: dataDir,
    PROCMAN_API_HOSTNAME: hostname = "127.0.0.1",
    PROCMAN_API_PORT: port,
    PROCMAN_API_PROTOCOL: protocol,
  } = process.env;
  const endpoint = dataDir === undefined ? undefined : endpointIn(dataDir);
  // Another user's file can't be read.
  if (endpoint === undefined) return socketNow() ?? addressOf(hostname, Number(port), protocol === "https");
  const { socket, problem } = endpoint;
  if (!isRunning(endpoint)) return undefined;
  if (typeof socket === "string" && existsSync(socket) && Buffer.byteLength(socket) <= MAX_SOCKET_BYTES)
    return { socketPath: socket };
  return problem === undefined
    ? addressOf(String(endpoint.hostname), Number(endpoint.port), endpoint.tls === true)
    : undefined;
}

/** Before the address is published. */
function socketNow(): ReportAddress | undefined {
  const { PROCMAN_API_SOCKET: socketPath = "" } = process.env;
  return existsSync(socketPath) ? { socketPath } : undefined;
}

/** The token isn't sent to an address that another user could have written. */
function endpointIn(dataDir: string): PublishedEndpoint | undefined {
  try {
    const { uid, mode } = statSync(dataDir);
    if ((uid !== 0 && uid !== process.geteuid?.()) || (mode & OTHERS_WRITE) !== 0) return undefined;
    return JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8")) as PublishedEndpoint;
  } catch {
    return undefined;
  }
}

/** The port of a dead service may belong to another program by now. */
function isRunning({ pid, startTime }: PublishedEndpoint): boolean {
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  try {
    // Linux: fields after the name in parentheses; the 22nd is the start time (proc(5)).
    const stat = readFileSync(`/proc/${Number(pid)}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === String(startTime);
  } catch {
    return process.platform !== "linux";
  }
}

function addressOf(hostname: string, port: number, isTls: boolean): ReportAddress | undefined {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
  // An API on all addresses is reached at the loopback address.
  return { hostname: hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname, port, isTls };
}

/** Resolves with whether the API has accepted it. */
function post(path: string, body: object, connected: (socket: Socket) => void = () => undefined): Promise<boolean> {
  const address = addressNow();
  if (address === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    try {
      const content = Buffer.from(JSON.stringify(body));
      const isTls = "isTls" in address && address.isTls;
      const send = isTls ? process.getBuiltinModule("node:https").request : request;
      const call = send({
        ...address,
        // The certificate has the name that others use, and the address, which is one of this machine, is procman's own
        // word.
        rejectUnauthorized: false,
        path,
        method: "POST",
        agent: false,
        timeout: TIMEOUT_MS,
        headers: {
          authorization: `Bearer ${process.env.PROCMAN_API_TOKEN}`,
          "content-type": "application/json",
          "content-length": content.length,
        },
      });
      call.on("socket", connected);
      call.on("timeout", () => call.destroy());
      call.on("error", () => resolve(false));
      call.on("close", () => resolve(false));
      call.on("response", (response) => {
        response.on("error", () => resolve(false)).resume();
        resolve((response.statusCode ?? 0) >= 200 && (response.statusCode ?? 0) < 300);
      });
      call.end(content);
    } catch {
      // For example a token with characters that a header may not contain.
      resolve(false);
    }
  });
}
