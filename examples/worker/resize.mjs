// Does one job after another. When asked to drain, it finishes the current job and takes no other.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "3" } } });

let isDraining = false;

function finish() {
  isDraining = true;
  console.log("drain: ends after this job");
}

process.once("message", (message) => {
  if (message === "drain") finish();
});
// If no message can be sent (see docs/guide/processes.md), the signal comes first.
process.once("SIGTERM", finish);

for (let job = 1; !isDraining; job += 1) {
  console.log(`job ${job} begins`);
  await sleep(Number(values.seconds) * 1_000);
  console.log(`job ${job} is done`);
}
