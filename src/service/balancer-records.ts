/** What the load balancer says, as members of records. */
import type { BackendReport, FrontReport, FrontSpec } from "../contract/balancer-protocol.ts";
import type { Listening } from "../contract/keeper-protocol.ts";
import type { ProcessRecord } from "../contract/records.ts";

/** An instance may take so long to listen before its silence is told. Milliseconds. */
const SILENCE_MS = 5_000;

export function placeOf({ hostname, port }: Listening): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/** Its instances share a listening socket. */
export function sharedShown(record: ProcessRecord, { hostname, port }: Listening): ProcessRecord {
  const isOpen = record.instances?.some(({ pid, status }) => pid !== undefined || status === "backoff") === true;
  const reason = isOpen ? `${record.reason}; they share ${placeOf({ hostname, port })}` : record.reason;
  return { ...record, reason, socket: { hostname, port } };
}

export function clusterShown(record: ProcessRecord, front: FrontSpec, { problem, waiting, rejected }: FrontReport): ProcessRecord {
  const { hostname, port, strategy } = front;
  return {
    ...record,
    reason: `${record.reason}; ${problem === undefined ? `common port ${placeOf(front)}` : `nobody listens on ${placeOf(front)}: ${problem}`}`,
    balancer: { hostname, port, strategy, ...(problem === undefined ? {} : { problem }), waiting, rejected },
  };
}

export function instanceShown(
  record: ProcessRecord,
  { accepting, connections, total, bytesIn, bytesOut, refused }: BackendReport,
  port: number,
): ProcessRecord {
  const isSilent =
    record.ready === true && record.healthy !== false && !accepting && Date.now() - Date.parse(record.started ?? "") > SILENCE_MS;
  return {
    ...record,
    reason: isSilent ? `${record.reason}, but accepts no connections on its port 127.0.0.1:${port} (PROCMAN_CLUSTER_PORT)` : record.reason,
    backend: { port, accepting, connections, totalConnections: total, receivedBytes: bytesIn, sentBytes: bytesOut, refused },
  };
}
