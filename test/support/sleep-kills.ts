/** A process or cluster `web` that sleeps without clients, and kills at each step of its wake and of its falling asleep. */
import assert from "node:assert/strict";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import type { Failpoint } from "../../src/core/os/failpoint.ts";
import { monotonicMs } from "../programs/run-diary.mjs";
import { ask } from "./cluster-rig.ts";
import type { FaultRig, pointsIn } from "./fault-rig.ts";
import type { Kill } from "./fault-verdict.ts";

export type Sleeping = { readonly rig: FaultRig; readonly port: number };

/** The steps from the decision of the service to its record by the keeper. */
export const DECIDED = ["service.decided", "service.sent", "keeper.told", "keeper.noted"] as const;

export const isAsleep = ({ status }: ProcessRecord): boolean => status === "asleep";

type Steps = { readonly points: readonly Failpoint[] } & Pick<ReturnType<typeof pointsIn>, "arm" | "reached">;

/** A client is served at each of them. Returns the kills. */
export async function killedAtSteps({ rig, port }: Sleeping, name: string, { points, arm, reached }: Steps) {
  const kills: Kill[] = [];
  for (const point of points) {
    await rig.until("web", isAsleep);
    if (name === "falling asleep") assert.ok((await ask(port)) > 0);
    const [what = ""] = point.split(".");
    kills.push({ what, at: monotonicMs(), pids: [] });
    arm(point);
    // Served by the present run if it isn't asked to end yet, else by the next one.
    const client = name === "a wake" ? ask(port) : reached(point).then(() => ask(port));
    await reached(point);
    kills.push({ what, at: monotonicMs(), pids: [] });
    assert.ok((await client) > 0, point);
  }
  return kills;
}
