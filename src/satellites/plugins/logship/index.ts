/** `procman/logship`: sends log lines to a syslog server (RFC 5424 by UDP, TCP or TLS) or by HTTP. */

import { hostname as machine } from "node:os";
import { compact } from "../../../core/base/compact.ts";
import { definePlugin } from "../../../core/plugins/plugin.ts";
import { type LogshipOptions, OPTIONS } from "../../../core/plugins/shipped/logship-options.ts";
import { retry } from "../shared/http-retry.ts";
import { logFeed } from "../shared/log-feed.ts";
import { sinkFor } from "./sinks.ts";

/** Longest message in bytes: by UDP what every receiver should accept (RFC 5424, 6.1), by TCP what receivers accept in practice. */
const MAX_UDP_BYTES = 2_048;
const MAX_BYTES = 65_536;

export default definePlugin<LogshipOptions>({
  name: "logship",
  version: "1.0.0",
  schema: OPTIONS,
  setup(context) {
    const { options, log, signal, name } = context;
    const { to, facility = "local0", hostname = machine(), headers = {}, timeoutSeconds = 10 } = options;
    const { maxBytes = to.startsWith("udp:") ? MAX_UDP_BYTES : MAX_BYTES, severity, categories, processes } = options;
    const sink = sinkFor({
      to,
      headers,
      timeoutMs: timeoutSeconds * 1_000,
      origin: { facility, hostname, name, maxBytes },
    });
    const receiver = originOf(to);
    const query = compact({
      severity,
      categories,
      processes,
    });
    const feed = logFeed(context, query, async ({ entries, lostBytes }) => {
      if (lostBytes > 0)
        log.warn(
          `${lostBytes} bytes of the log were deleted before they could be sent: ${receiver} was unreachable for too long`,
        );
      if (entries.length === 0) return true;
      const on = { log, signal, what: `send log lines to ${receiver}`, note: "they stay on disk" };
      return (await retry(() => sink.send(entries), on)) !== "stopped";
    });
    return async () => {
      await feed.close();
      await sink.close();
    };
  },
});

/** Protocol and host, without parts that may be secret. */
function originOf(to: string): string {
  const { protocol, host } = new URL(to);
  return `${protocol}//${host}`;
}
