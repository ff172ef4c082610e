/** How another machine is, in one row of the dashboard's page of hosts. */
import { Client } from "../../client/client.ts";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import type { SendRequest } from "../../client/transport.ts";
import type { HostSummary } from "../../core/contract/host-links.ts";
import { allRun } from "../../core/contract/process-health.ts";
import type { HostUpstream } from "./host-upstream.ts";

/** Time for an answer. Milliseconds. */
const PATIENCE_MS = 10_000;

/** Never rejects: a machine that doesn't answer has a problem. */
export async function summaryOf(upstream: HostUpstream): Promise<HostSummary> {
  const { name: host } = upstream;
  try {
    const authorization = `Bearer ${await upstream.token()}`;
    const send: SendRequest = (request) =>
      upstream.send({
        ...request,
        headers: { ...request.headers, authorization },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
    const client = new Client(send, undefined, checkAnswer);
    const [{ name, version }, records] = await Promise.all([client.state(), client.processes()]);
    const members = records.flatMap((record) => record.instances ?? [record]);
    const attention = members.filter((record) => !allRun([record], { named: false, checks: true })).length;
    return { host, name, version, total: members.length, attention };
  } catch (error) {
    return { host, problem: (error as Error).message };
  }
}
