import assert from "node:assert/strict";
import { test } from "node:test";
import type { BackendReport, FrontReport } from "../ipc/balancer-protocol.ts";
import { mergeReports } from "./balancer.ts";

const backend = (accepting: boolean, total = 0): BackendReport => ({
  id: "web-1",
  accepting,
  connections: 1,
  total,
  bytesIn: 0,
  bytesOut: 0,
  refused: 0,
});
const front = (...backends: readonly BackendReport[]): FrontReport => ({
  id: "web",
  waiting: 1,
  rejected: 0,
  backends,
});

test("counters of the processes are added up", () => {
  const [{ waiting, backends } = front()] = mergeReports([[front(backend(true, 3))], [front(backend(true, 4))]]);
  assert.deepEqual([waiting, backends[0]?.connections, backends[0]?.total], [2, 2, 7]);
});

test("a backend is reported as accepting when it accepts connections of all processes: a rolling restart waits for that", () => {
  const accepts = (...others: readonly (readonly FrontReport[])[]): boolean | undefined =>
    mergeReports([[front(backend(true))], ...others])[0]?.backends[0]?.accepting;
  assert.equal(accepts(), true);
  assert.equal(accepts([front(backend(true))]), true);
  assert.equal(accepts([front(backend(false))]), false);
  assert.equal(accepts([front()]), false, "it does not know this backend yet");
  assert.equal(accepts([]), false, "it has not reported yet");
});
