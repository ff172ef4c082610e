/** Clients of the clusters: a request that fails has a reason. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../../programs/run-diary.mjs";
import type { Campaign } from "./campaign.ts";

const EVERY_MS = 60;

export async function visit(campaign: Campaign, id: "web" | "share"): Promise<void> {
  const { client, model, account, places } = campaign;
  const [wasServing, from] = [model.serves(id), monotonicMs()];
  const { status, text } = await client.visit(places.ports[id]);
  account.count(status === 200 ? "visits" : "failed visits");
  if (status !== 200 && wasServing && model.serves(id) && account.isCalm(from, ["web"]))
    account.find("client", `a request to ${id} has failed though it serves: ${status} ${text}`);
  await sleep(EVERY_MS);
}
