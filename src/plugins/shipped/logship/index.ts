/** `procman/logship`: log lines for a syslog server (RFC 5424 by UDP, TCP or TLS) or an address that takes them by HTTP. */
import { hostname as machine } from "node:os";
import { definePlugin } from "../../plugin.ts";
import { retry } from "../shared/http-retry.ts";
import { logFeed } from "../shared/log-feed.ts";
import { type LogshipOptions, OPTIONS } from "./options.ts";
import { sinkFor } from "./sinks.ts";

/** What every receiver should take (RFC 5424, 6.1), and what they do take by TCP. Bytes. */
const MOST_BY_UDP = 2_048;
const MOST = 65_536;

export default definePlugin<LogshipOptions>({
  name: "logship",
  version: "1.0.0",
  schema: OPTIONS,
  setup(context) {
    const { options, log, signal, name } = context;
    const { to, facility = "local0", hostname = machine(), headers = {}, timeoutSeconds = 10 } = options;
    const { maxBytes = to.startsWith("udp:") ? MOST_BY_UDP : MOST, severity, categories, processes } = options;
    const sink = sinkFor({ to, headers, timeoutMs: timeoutSeconds * 1_000, origin: { facility, hostname, name, maxBytes } });
    const where = placeOf(to);
    const query = {
      ...(severity === undefined ? {} : { severity }),
      ...(categories === undefined ? {} : { categories }),
      ...(processes === undefined ? {} : { processes }),
    };
    const feed = logFeed(context, query, async ({ entries, lostBytes }) => {
      if (lostBytes > 0) log.warn(`${lostBytes} bytes of the log were gone before they could be sent: ${where} was away for too long`);
      if (entries.length === 0) return true;
      const on = { log, signal, what: `send log lines to ${where}`, meanwhile: "they wait on the disk" };
      return (await retry(() => sink.send(entries), on)) !== "stopped";
    });
    return async () => {
      await feed.close();
      await sink.close();
    };
  },
});

/** Without what may be a secret. */
function placeOf(to: string): string {
  const { protocol, host } = new URL(to);
  return `${protocol}//${host}`;
}
