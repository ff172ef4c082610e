/** A rest of a campaign: when all has settled, what is compared with what was acknowledged. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessRecord } from "../../../src/core/contract/records.ts";
import type { Incident } from "../../../src/core/contract/run-summary.ts";
import { monotonicMs } from "../../programs/run-diary.mjs";
import { disagreements } from "../../support/fault-verdict.ts";
import type { Campaign } from "./campaign.ts";
import { TYPED } from "./campaign-input.ts";
import { isSocketLost } from "./campaign-killer.ts";

/** On a busy machine `ready` by a line has taken 50 s. Milliseconds. */
const SETTLED_MS = 90_000;
const POLL_MS = 400;
/** Between two instances of a rolling restart, which may outlive a kill, nothing changes for more than a second (`minUptimeMs`). */
const UNCHANGED_MS = 2_500;
const CHANGING = ["starting", "stopping", "backoff"];

/** Everything that was asked for is done then. */
export async function compareAll(campaign: Campaign): Promise<void> {
  const { model, account, procman } = campaign;
  if (isSocketLost(campaign)) await openSocket(campaign);
  if (model.isPending) await applyFile(campaign);
  const records = await settled(campaign);
  for (const finding of [...model.compare(records), ...disagreements(records)]) account.find("rest", finding);
  const typed = records.find(({ id, status }) => id === TYPED && status === "running");
  if (typed?.pid !== undefined)
    for (const line of await campaign.typed.missing(campaign.places.folder, typed.pid)) account.find("input", line);
  account.count("rests");
  const answer = (await procman.api.ask("GET", "/processes/all/incidents?limit=1000")) as
    | { status: number; body: readonly Incident[] }
    | undefined;
  if (answer?.status === 200) campaign.incidents = [...campaign.incidents, ...answer.body];
}

/**
 * As the docs say after a kill of all. A connection that comes before the next service has the port may be reset, and a
 * service that gives way says so: then it is asked again.
 */
async function openSocket(campaign: Campaign): Promise<void> {
  const { client, model, account } = campaign;
  let last = "";
  for (const end = performance.now() + SETTLED_MS; performance.now() < end; await sleep(POLL_MS)) {
    const { status, text } = await client.ask("POST", "/processes/share/restart?hard=1&wait=30");
    last = `${status} ${text}`;
    if (status !== 0 && status !== 503) break;
  }
  if (!last.startsWith("200 ")) account.find("rest", `the shared socket doesn't open again: ${last.slice(0, 600)}`);
  model.acted("share", "restart", "done");
  account.count("lost sockets");
  campaign.socketSince = monotonicMs();
}

async function applyFile(campaign: Campaign): Promise<void> {
  const { client, model, account, variant } = campaign;
  let last = "";
  for (const end = performance.now() + SETTLED_MS; performance.now() < end; await sleep(POLL_MS)) {
    const { status, text } = await client.ask("POST", "/reload?wait=30");
    last = `${status} ${text}`;
    if (status === 200) return model.reloaded(variant, "done");
  }
  account.find("rest", `the changed file can't be applied: ${last.slice(0, 600)}`);
}

/** The records once nothing of what the operator may act on changes any more. */
async function settled({ procman, model, account }: Campaign): Promise<readonly ProcessRecord[]> {
  const known = new Set(model.targets);
  let [before, reasons] = ["", ""];
  let since = 0;
  let records: readonly ProcessRecord[] = [];
  for (const end = performance.now() + SETTLED_MS; performance.now() < end; await sleep(POLL_MS)) {
    records = (await procman.answered()) ?? [];
    const all = records.flatMap((record) => record.instances ?? [record]).filter(({ id }) => known.has(id));
    const now = JSON.stringify(all.map(({ id, status, pid, ready }) => [id, status, pid, ready]));
    const isChanging =
      all.length === 0 || all.some(({ status, ready }) => CHANGING.includes(status) || ready === false);
    if (now !== before || isChanging) since = monotonicMs();
    else if (monotonicMs() - since >= UNCHANGED_MS) return records;
    before = now;
    reasons = all.flatMap(({ id, status, reason }) => (CHANGING.includes(status) ? `${id} ${reason}` : [])).join("; ");
  }
  account.find("rest", `does not settle: ${before}; ${reasons}`);
  return records;
}
