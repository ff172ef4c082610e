/** How another machine is, in one row of the dashboard's page of hosts. */
import type { Client } from "../../client/client.ts";
import { type ErrorCode, ProcmanError } from "../../core/base/errors.ts";
import type { HostSummary } from "../../core/contract/host-links.ts";
import { allRun } from "../../core/contract/process-health.ts";
import type { RolloutRecord } from "../../core/contract/rollout-record.ts";
import { clientTo, type HostUpstream } from "./host-upstream.ts";

/** Time for an answer. Milliseconds. */
const PATIENCE_MS = 10_000;
const HAS_NONE: readonly ErrorCode[] = ["rollout-unknown", "path-unknown", "scope-missing"];

/** Never rejects: a machine that doesn't answer has a problem. */
export async function summaryOf(upstream: HostUpstream): Promise<HostSummary> {
  const { name: host } = upstream;
  try {
    const client = clientTo(
      upstream,
      (send) => (request) => send({ ...request, signal: AbortSignal.timeout(PATIENCE_MS) }),
    );
    const [{ name, version }, records, rollout] = await Promise.all([
      client.state(),
      client.processes(),
      rolloutOf(client),
    ]);
    const members = records.flatMap((record) => record.instances ?? [record]);
    const attention = members.filter((record) => !allRun([record], { named: false, checks: true })).length;
    return { host, name, version, total: members.length, attention, ...(rollout && { rollout }) };
  } catch (error) {
    return { host, problem: (error as Error).message };
  }
}

/** undefined: there was none, its version knows none, or the token may not see it. */
async function rolloutOf(client: Client): Promise<RolloutRecord | undefined> {
  try {
    return await client.rollout();
  } catch (error) {
    if (error instanceof ProcmanError && HAS_NONE.includes(error.code)) return undefined;
    throw error;
  }
}
