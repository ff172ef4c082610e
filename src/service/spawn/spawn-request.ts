/** Builds the spawner: spawn requests are made from the specification at the time of the start. */
import type { ProcessSpec } from "../../config/spec.ts";
import { stopSignalOf } from "../../supervisor/restart-policy.ts";
import type { KeeperChannel } from "../keeper-channel.ts";
import type { ServiceLog } from "../reporting/service-log.ts";
import { type ApiAccess, EnvFileWarnings, markerOf } from "./environment.ts";
import { exitCodeOf, type LaunchContext, launchOf, whyUnstartable } from "./launch.ts";
import { occupiedPortOf } from "./port-conflicts.ts";
import { KeeperSpawner } from "./spawner.ts";
import type { Sweeper } from "./sweeper.ts";

export type SpawnerContext = {
  readonly stateDir: string;
  /** Of a process or one of its slots. */
  readonly spec: (slot: string) => ProcessSpec;
  readonly api: (id: string) => ApiAccess | undefined;
  /** What to do if its shared socket can't be opened; undefined: nothing is known. */
  readonly remedy: (spec: ProcessSpec) => string | undefined;
  readonly log: Pick<ServiceLog, "write">;
};

export function spawnerOf(link: KeeperChannel, sweeper: Sweeper, { stateDir, spec, api, remedy, log }: SpawnerContext): KeeperSpawner {
  const faults = new EnvFileWarnings(log);
  const marker = (slot: string, run: number): string => markerOf(slot, run, stateDir);
  return new KeeperSpawner({
    link,
    sweeper,
    marker,
    isKnownInAdvance: (slot) => isKnownInAdvance(spec(slot)),
    request: (slot, run) => {
      const onFaults: LaunchContext["onFaults"] = (file, found) => faults.report(slot, file, found);
      return launchOf(spec(slot), { stateDir, marker: marker(slot, run), slot, run, api, onFaults });
    },
    drains: (slot) => (spec(slot).command.kind === "worker" ? stopSignalOf(spec(slot).policy) : undefined),
    whyUnstartable: (failed) => {
      const own = spec(failed.slot);
      const what = failed.step === "socket" ? remedy(own) : undefined;
      const message = whyUnstartable(own, failed);
      return { message: what === undefined ? message : `${message}; ${what}`, exitCode: exitCodeOf(failed) };
    },
    occupied: ({ slot, run, survivors }) => (survivors ? undefined : occupiedPortOf(spec(slot), marker(slot, run))),
  });
}

/** False if the request may differ at the time of the start: env files and secrets are read then, a cgroup is made for each run. */
function isKnownInAdvance({ envFile = [], env, memoryMax }: ProcessSpec): boolean {
  return envFile.length === 0 && Object.values(env).every((value) => typeof value === "string") && memoryMax === undefined;
}
