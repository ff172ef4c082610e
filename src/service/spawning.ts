/** How the service has processes started: by the keeper, as their specifications say at that moment. */
import type { ProcessSpec } from "../config/spec.ts";
import { type ApiAccess, markerOf } from "../runtime/environment.ts";
import type { Link } from "../runtime/link.ts";
import { KeeperSpawner } from "../runtime/spawner.ts";
import type { Sweeper } from "../runtime/sweeper.ts";
import { stopSignalOf } from "../supervisor/restart-policy.ts";
import { EnvFaults } from "./env-faults.ts";
import { exitCodeOf, launchOf, type Place, whyUnstartable } from "./launch.ts";
import { occupiedOf } from "./occupied.ts";
import type { Voice } from "./voice.ts";

export type Spawning = {
  readonly stateDir: string;
  /** Of a process or one of its slots. */
  readonly spec: (slot: string) => ProcessSpec;
  readonly api: (id: string) => ApiAccess | undefined;
  /** What to do when the socket that it shares can't be opened; undefined: nothing that we know of. */
  readonly remedy: (spec: ProcessSpec) => string | undefined;
  readonly voice: Pick<Voice, "say">;
};

export function spawnerOf(link: Link, sweeper: Sweeper, { stateDir, spec, api, remedy, voice }: Spawning): KeeperSpawner {
  const faults = new EnvFaults(voice);
  const marker = (slot: string, run: number): string => markerOf(slot, run, stateDir);
  return new KeeperSpawner({
    link,
    sweeper,
    marker,
    isSteady: (slot) => isSteady(spec(slot)),
    request: (slot, run) => {
      const heard: Place["heard"] = (file, found) => faults.look(slot, file, found);
      return launchOf(spec(slot), { stateDir, marker: marker(slot, run), slot, run, api, heard });
    },
    drains: (slot) => (spec(slot).command.kind === "worker" ? stopSignalOf(spec(slot).policy) : undefined),
    whyUnstartable: (failed) => {
      const own = spec(failed.slot);
      const what = failed.step === "socket" ? remedy(own) : undefined;
      const message = whyUnstartable(own, failed);
      return { message: what === undefined ? message : `${message}; ${what}`, exitCode: exitCodeOf(failed) };
    },
    occupied: ({ slot, run, survivors }) => (survivors ? undefined : occupiedOf(spec(slot), marker(slot, run))),
  });
}

/** What its runs consist of doesn't change by itself. Secrets are for nobody to keep; a cgroup is made anew for each run. */
function isSteady({ envFile = [], env, memoryMax }: ProcessSpec): boolean {
  return envFile.length === 0 && Object.values(env).every((value) => typeof value === "string") && memoryMax === undefined;
}
