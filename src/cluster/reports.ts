/** What the processes of the balancer report, as one. */
import type { BackendReport, FrontReport } from "../contract/balancer-protocol.ts";

/** The first has all fronts. Another that has not reported one yet may take its clients all the same: so far nobody accepts for all. */
export function merged([first = [], ...others]: readonly (readonly FrontReport[])[]): readonly FrontReport[] {
  return first.map((front) =>
    others.reduce(
      (sum, reports) =>
        addFront(
          sum,
          reports.find(({ id }) => id === front.id),
        ),
      front,
    ),
  );
}

function addFront(sum: FrontReport, front: FrontReport | undefined): FrontReport {
  if (front === undefined) return { ...sum, backends: sum.backends.map((backend) => addBackend(backend, undefined)) };
  const backends = new Map(front.backends.map((backend) => [backend.id, backend]));
  return {
    ...sum,
    waiting: sum.waiting + front.waiting,
    rejected: sum.rejected + front.rejected,
    ...(front.full === undefined ? {} : { full: front.full }),
    backends: sum.backends.map((backend) => addBackend(backend, backends.get(backend.id))),
  };
}

function addBackend(sum: BackendReport, backend: BackendReport | undefined): BackendReport {
  if (backend === undefined) return { ...sum, accepting: false };
  return {
    id: sum.id,
    accepting: sum.accepting && backend.accepting,
    connections: sum.connections + backend.connections,
    total: sum.total + backend.total,
    bytesIn: sum.bytesIn + backend.bytesIn,
    bytesOut: sum.bytesOut + backend.bytesOut,
    refused: sum.refused + backend.refused,
  };
}
