/** The gate of a release: what its processes must keep to. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { normalise } from "../../config/normalise.ts";
import type { ReleasesSpec } from "../../config/spec.ts";
import type { ProcessRecord } from "../../contract/records.ts";
import { keepToGate } from "./release-processes.ts";

const CONTEXT = { folder: "/srv", parallelism: 1, now: new Date(0), stripsTypes: true };
const { processes, releases } = normalise(
  {
    processes: [
      { id: "web", cmd: "true", cwd: "current" },
      { id: "other", cmd: "true" },
    ],
    releases: { gate: { seconds: 1 } },
  },
  CONTEXT,
);

/** `records`: those of each look; the last one stays. */
function gated(
  gate: Partial<NonNullable<ReleasesSpec["gate"]>>,
  ...records: readonly Partial<ProcessRecord>[]
): Promise<void> {
  const looks = [...records];
  let record = looks[0] ?? {};
  const quiet = { watch: () => () => undefined };
  const all = processes.map(({ id }) => ({ id, states: [] }));
  const context = {
    incidents: { lastEnd: () => undefined },
    balancing: { ...quiet, standby: { has: (id: string) => id === "old" } },
    supervisor: { ...quiet, processes: all },
    specs: { config: { processes } },
    records: {
      of: ({ id }: { readonly id: string }) => {
        assert.equal(id, "web", "only what belongs to the release counts");
        record = looks.shift() ?? record;
        return { id, restarts: 0, reason: "runs", started: "2026-01-01T00:00:00Z", ...record };
      },
    },
  };
  const spec = { ...(releases as ReleasesSpec), gate: { ms: 600, restarts: 0, ...gate } };
  return keepToGate(context as unknown as Parameters<typeof keepToGate>[0], spec, new AbortController().signal);
}

const backend = (refused: number) => ({ backend: { refused } as ProcessRecord["backend"] }) as Partial<ProcessRecord>;
const report = (queue: number, sent = "2026-01-01T00:00:01Z") =>
  ({ telemetry: { sent, metrics: { queue } } }) as unknown as Partial<ProcessRecord>;

test("refused connections count from the begin of the gate", async () => {
  await gated({ refused: 2 }, backend(5), backend(7));
  await assert.rejects(gated({ refused: 2 }, backend(5), backend(5), backend(8)), {
    message: "the gate: 3 connections were refused; allowed: 2",
  });
  await gated({}, backend(5), backend(500));
});

test("restarts by policy count, those of before do not", async () => {
  await gated({ restarts: 1 }, { restarts: 4 }, { restarts: 5 });
  await assert.rejects(gated({}, { restarts: 4 }, { restarts: 5, reason: "exited with code 1" }), {
    message: 'the gate: "web" exited with code 1; allowed: 0 restarts, there were 1',
  });
});

test("a number has a limit, or one for its growth; a report of the run before doesn't count", async () => {
  await gated({ metrics: { queue: 9 } }, report(9));
  await assert.rejects(gated({ metrics: { queue: 9 } }, report(10)), /the metric "queue" of "web" is 10; allowed: 9/);
  await gated({ metrics: { queue: "+2" } }, report(100), report(100), report(102));
  await assert.rejects(
    gated({ metrics: { queue: "+2" } }, report(100), report(100), report(103)),
    /has grown by 3; allowed: \+2/,
  );
  await assert.rejects(
    gated({ metrics: { queue: 9 } }, report(1, "2025-12-31T23:59:59Z")),
    /no process of the release has reported the metric "queue" within 0\.6 s/,
  );
});
