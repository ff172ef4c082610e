/** What the load balancer says, as members of records. */

import type { ProcessRecord } from "../../contract/records.ts";
import type { BackendReport, FrontReport, FrontSpec } from "../../ipc/balancer-protocol.ts";
import type { Listening } from "../../ipc/keeper-protocol.ts";
import { error, info, type LogLine } from "../reporting/lifecycle-messages.ts";

function placeOf({ hostname, port }: Listening): string {
  return hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`;
}

/** Its instances share a listening socket. */
export function sharedShown(record: ProcessRecord, { hostname, port }: Listening): ProcessRecord {
  const isOpen = record.instances?.some(({ pid, status }) => pid !== undefined || status === "backoff") === true;
  const reason = isOpen ? `${record.reason}; they share ${placeOf({ hostname, port })}` : record.reason;
  return { ...record, reason, socket: { hostname, port } };
}

export function clusterShown(record: ProcessRecord, front: FrontSpec, { problem, waiting, rejected, full }: FrontReport): ProcessRecord {
  const { hostname, port, strategy } = front;
  const place = problem === undefined ? `common port ${placeOf(front)}` : `not listening on ${placeOf(front)}: ${problem}`;
  return {
    ...record,
    reason: [record.reason, place, ...(full === undefined ? [] : [fullness(full)])].join("; "),
    balancer: { hostname, port, strategy, ...(problem === undefined ? {} : { problem }), waiting, rejected },
  };
}

export function instanceShown(
  record: ProcessRecord,
  { accepting, connections, total, bytesIn, bytesOut, refused }: BackendReport,
  { port, silence }: { readonly port: number; readonly silence: string | undefined },
): ProcessRecord {
  return {
    ...record,
    reason: silence === undefined ? record.reason : `${record.reason}, but ${silence}`,
    backend: { port, accepting, connections, totalConnections: total, receivedBytes: bytesIn, sentBytes: bytesOut, refused },
  };
}

/** What of a report is worth a line. */
export function linesOf(front: FrontSpec, { problem, full }: FrontReport, before: FrontReport | undefined): readonly LogLine[] {
  const at = placeOf(front);
  const lines: LogLine[] = [];
  if (problem !== before?.problem)
    lines.push(
      problem === undefined
        ? info(`the load balancer listens on ${at} now`)
        : error(`Cannot listen on ${at}: ${problem}; retrying, the instances keep running`),
    );
  if (full !== before?.full) lines.push(full === undefined ? info("clients are no longer turned away") : error(fullness(full)));
  return lines;
}

function fullness(files: number): string {
  return `clients are turned away: each of the load balancer's processes may open only ${files} files; raise that where procman is started (ulimit -n, LimitNOFILE=)`;
}
