/** `procman/otlp`: sends log lines and metrics to an OpenTelemetry collector, by OTLP over HTTP in JSON. */
import { hostname } from "node:os";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { withoutEnd } from "../../../core/base/text-end.ts";
import { VERSION } from "../../../core/base/version.ts";
import { definePlugin, type PluginContext } from "../../../core/plugins/plugin.ts";
import { OPTIONS, type OtlpOptions } from "../../../core/plugins/shipped/otlp-options.ts";
import { type PostOutcome, post, retry } from "../shared/http-retry.ts";
import { type LogFeed, logFeed } from "../shared/log-feed.ts";
import { logsRequest, metricsRequest, type TelemetryResource } from "./encoding.ts";

type ExportContext = PluginContext<OtlpOptions>;

const ENDPOINT = "http://127.0.0.1:4318";
const zip = promisify(gzip);

export default definePlugin<OtlpOptions>({
  name: "otlp",
  version: "1.0.0",
  schema: OPTIONS,
  setup(context) {
    const { options, name } = context;
    const origin: TelemetryResource = { name, host: hostname(), version: VERSION, resource: options.resource ?? {} };
    const feed = options.logs === false ? undefined : logs(context, origin);
    const meter = options.metrics === false ? undefined : metrics(context, origin);
    return async () => {
      clearInterval(meter);
      await feed?.close();
    };
  },
});

function logs(context: ExportContext, origin: TelemetryResource): LogFeed {
  const { options, log, signal } = context;
  const { processes = [] } = options;
  return logFeed(context, { processes }, async ({ entries, lostBytes }) => {
    if (lostBytes > 0)
      log.warn(
        `${lostBytes} bytes of the log were deleted before they could be sent: the collector was unreachable for too long`,
      );
    if (entries.length === 0) return true;
    const body = logsRequest(entries, origin, Date.now());
    const on = { log, signal, what: `send log lines to ${endpointOf(options)}`, note: "they stay on disk" };
    return (await retry(() => send("/v1/logs", body, context), on)) !== "stopped";
  });
}

/** A failed export is not repeated: the next one has newer values. */
function metrics(context: ExportContext, origin: TelemetryResource): NodeJS.Timeout {
  const { control, options, log } = context;
  const { intervalSeconds = 30, processes = [] } = options;
  const selected = new Set(processes);
  let isSending = false;
  let hasFailed = false;
  const sendMetrics = async (): Promise<void> => {
    const [all, { started }] = await Promise.all([control.processes(), control.state()]);
    const records = all.filter(
      ({ id, instances = [] }) =>
        selected.size === 0 || selected.has(id) || instances.some((each) => selected.has(each.id)),
    );
    const outcome = await send(
      "/v1/metrics",
      metricsRequest(records, origin, { started: Date.parse(started), now: Date.now() }),
      context,
    );
    if (outcome.kind !== "done" && !hasFailed)
      log.warn(`Cannot send metrics to ${endpointOf(options)}: ${outcome.reason}; retried at each interval`);
    if (outcome.kind === "done" && hasFailed) log.info(`metrics are being sent to ${endpointOf(options)} again`);
    hasFailed = outcome.kind !== "done";
  };
  const exportOnce = (): void => {
    if (isSending) return;
    isSending = true;
    sendMetrics()
      .catch((error: Error) => log.warn(`Cannot read the processes: ${error.message}`))
      .finally(() => {
        isSending = false;
      });
  };
  exportOnce();
  return setInterval(exportOnce, intervalSeconds * 1_000);
}

async function send(path: string, request: object, { options, log }: ExportContext): Promise<PostOutcome> {
  const { headers = {}, timeoutSeconds = 10, gzip: isZipped = true } = options;
  const text = JSON.stringify(request);
  const outcome = await post(`${endpointOf(options)}${path}`, {
    body: isZipped ? new Uint8Array(await zip(text)) : text,
    headers: { "content-type": "application/json", ...(isZipped ? { "content-encoding": "gzip" } : {}), ...headers },
    timeoutMs: timeoutSeconds * 1_000,
  });
  if (outcome.kind === "done") warnOfRejected(outcome.body, log);
  return outcome;
}

/** OTLP's "partial success": rejected items must not be sent again. */
function warnOfRejected(body: string, log: ExportContext["log"]): void {
  const { rejectedLogRecords, rejectedDataPoints, errorMessage } = partialIn(body);
  const count = Number(rejectedLogRecords ?? rejectedDataPoints ?? 0);
  if (count > 0)
    log.warn(
      `the collector rejected ${count} of the items sent${errorMessage ? `: ${String(errorMessage).slice(0, 200)}` : ""}`,
    );
}

function partialIn(body: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(body) as { readonly partialSuccess?: Readonly<Record<string, unknown>> }).partialSuccess ?? {};
  } catch {
    return {};
  }
}

function endpointOf({ endpoint = ENDPOINT }: OtlpOptions): string {
  return withoutEnd(endpoint, "/");
}
