/** Clients of the clusters: a request that fails has a reason. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../../../examples/kill-the-manager/programs/instance.mjs";
import type { Campaign } from "./campaign.ts";

const EVERY_MS = 60;
/** How long before and after a kill of the balancer its clients notice it. Milliseconds. */
const AROUND_MS = 4_000;

export async function visit(campaign: Campaign, id: "web" | "share"): Promise<void> {
  const { client, model, account, places, kills } = campaign;
  const [wasServing, from] = [model.serves(id), monotonicMs()];
  const { status, text } = await client.visit(places.ports[id]);
  account.count(status === 200 ? "visits" : "failed visits");
  const isExplained = kills.some(({ what, at }) => /balancer|everything/.test(what) && at > monotonicMs() - AROUND_MS);
  const isHalted = account.windows.some(({ what, to }) => /halt of balancer/.test(what) && to > monotonicMs() - AROUND_MS);
  if (status !== 200 && wasServing && model.serves(id) && account.isCalm(from, ["web"]) && !isExplained && !isHalted)
    account.find("client", `a request to ${id} has failed though it serves: ${status} ${text}`);
  await sleep(EVERY_MS);
}
