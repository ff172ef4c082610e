/** Holds the lock of a state folder as a keeper does, without a service, and answers SIGUSR1 with the given report. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeLock } from "../../src/core/os/lock.ts";

const [stateDir = "", report = ""] = process.argv.slice(2);
const lock = takeLock(stateDir);
if (!("release" in lock)) throw new Error(`${stateDir} is locked by ${lock.pid}`);

process.on("SIGUSR1", () => {
  if (report === "") return;
  if (report === "end") process.exit(0);
  const request: unknown = JSON.parse(readFileSync(join(stateDir, "upgrade.json"), "utf8"));
  const { id } = request as { readonly id: string };
  const answer = join(stateDir, "upgraded.json");
  writeFileSync(`${answer}.tmp`, JSON.stringify({ ...JSON.parse(report), id, request }));
  renameSync(`${answer}.tmp`, answer);
});
process.on("SIGTERM", () => {
  lock.release();
  process.exit(0);
});
setInterval(() => undefined, 60_000);
console.log("holds");
