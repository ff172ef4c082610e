/** Clients of the clusters, and of what sleeps without them: a request that fails has a reason. */
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../../programs/run-diary.mjs";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { Campaign } from "./campaign.ts";
import { SLEEPER } from "./campaign-load.ts";

const EVERY_MS = 60;
/** It sleeps after 1 s: clients come while it is up, falls asleep and sleeps. Milliseconds. */
const WAKE_MS = [200, 2_500] as const;

export async function visit(campaign: Campaign, id: "web" | "share"): Promise<void> {
  const { client, model, account, places } = campaign;
  const [wasServing, from] = [model.serves(id), monotonicMs()];
  const { status, text } = await client.visit(places.ports[id]);
  account.count(status === 200 ? "visits" : "failed visits");
  if (status !== 200 && wasServing && model.serves(id) && account.isCalm(from, ["web"]))
    account.find("client", `a request to ${id} has failed though it serves: ${status} ${text}`);
  await sleep(EVERY_MS);
}

/** Nobody but a killed load balancer loses a client. */
export async function wake({ client, account, places, woken }: Campaign, random: SeededRandom): Promise<void> {
  const from = monotonicMs();
  const { status, text } = await client.visit(places.ports[SLEEPER]);
  if (status === 200) woken.add(text);
  else if (account.isCalm(from, ["web"])) account.find("client", `${SLEEPER} has not served: ${status} ${text}`);
  await sleep(random.between(...WAKE_MS));
}
