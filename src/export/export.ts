/** Entry: the files of a target for a configuration, and what it can't carry. */
import type { Config } from "../config/spec.ts";
import { exportCompose } from "./targets/compose-target.ts";
import { exportHaproxy } from "./targets/haproxy.ts";
import { exportKubernetes } from "./targets/kubernetes.ts";
import { exportNomad } from "./targets/nomad.ts";
import { exportProcfile } from "./targets/procfile-target.ts";
import { exportSwarm } from "./targets/swarm.ts";
import { exportSystemd } from "./targets/systemd-target.ts";
import type { Alike, Exported, Exporter, Project, TargetName } from "./workload.ts";
import { workloadsOf } from "./workloads.ts";

const EXPORTERS: Readonly<Record<TargetName, { readonly run: Exporter; readonly alike: Alike }>> = {
  systemd: { run: exportSystemd, alike: "split" },
  compose: { run: exportCompose, alike: "port" },
  swarm: { run: exportSwarm, alike: "port" },
  kubernetes: { run: exportKubernetes, alike: "port" },
  nomad: { run: exportNomad, alike: "same" },
  procfile: { run: exportProcfile, alike: "same" },
  haproxy: { run: exportHaproxy, alike: "split" },
};

/**
 * The files of the target, in the order of their importance, and the notes. If a note `blocks`, the files are not to be used.
 *
 * @example
 * const { files, notes } = exportTo("compose", config, project);
 */
export function exportTo(target: TargetName, config: Config, project: Project): Exported {
  const { run, alike } = EXPORTERS[target];
  return run(workloadsOf(config, alike), project);
}
