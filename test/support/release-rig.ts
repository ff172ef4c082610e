/** Releases of programs that only last, and how their deployments end. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DeploymentRecord } from "../../src/core/contract/deployment-record.ts";
import type { FaultRig } from "./fault-rig.ts";
import { eventually } from "./procman-process.ts";

/** What comes after the switch fails in one that is bad. */
export function build(folder: string, version: string, isBad = false): string {
  const place = join(folder, version);
  mkdirSync(place);
  writeFileSync(join(place, "VERSION"), `${version}\n`);
  writeFileSync(join(place, "run.sh"), "exec sleep 1000\n");
  if (isBad) writeFileSync(join(place, "BAD"), "");
  return place;
}

async function latest({ procman }: FaultRig): Promise<DeploymentRecord | undefined> {
  const answer = await procman.api.ask("GET", "/deployments/latest");
  return answer?.status === 200 ? answer.body : undefined;
}

export async function over(rig: FaultRig, number: number): Promise<DeploymentRecord> {
  return eventually(
    async () => {
      const record = await latest(rig);
      return record?.number === number && record.step === undefined ? record : undefined;
    },
    { ms: 60_000, what: `the end of deployment ${number}` },
  );
}

export const lines = (path: string): readonly string[] =>
  existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
