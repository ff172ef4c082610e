/** Entry: the files of a target for a configuration, and what it can't carry. */
import { ownerOf } from "../../core/config/configured-ports.ts";
import type { Config } from "../../core/config/spec.ts";
import { exportCompose } from "./targets/compose-target.ts";
import { exportHaproxy } from "./targets/haproxy.ts";
import { exportKubernetes } from "./targets/kubernetes.ts";
import { exportNomad } from "./targets/nomad.ts";
import { exportProcfile } from "./targets/procfile-target.ts";
import { exportSwarm } from "./targets/swarm.ts";
import { exportSystemd } from "./targets/systemd-target.ts";
import type { Alike, Exported, Exporter, Note, Project, TargetName } from "./workload.ts";
import { workloadsOf } from "./workloads.ts";

type TargetRow = {
  readonly run: Exporter;
  readonly alike: Alike;
  /** How files of a container outlive it; absent: there are no containers. */
  readonly volume?: string;
};

const EXPORTERS: Readonly<Record<TargetName, TargetRow>> = {
  systemd: { run: exportSystemd, alike: "split" },
  compose: { run: exportCompose, alike: "port", volume: "volumes" },
  swarm: { run: exportSwarm, alike: "port", volume: "volumes" },
  kubernetes: { run: exportKubernetes, alike: "port", volume: "a PersistentVolumeClaim and volumeMounts" },
  nomad: { run: exportNomad, alike: "same" },
  procfile: { run: exportProcfile, alike: "same" },
  haproxy: { run: exportHaproxy, alike: "split" },
};

/**
 * The files of the target, in the order of their importance, and the notes. If a note `blocks`, the files are not to be
 * used.
 *
 * @example
 * const { files, notes } = exportTo("compose", config, project);
 */
export function exportTo(target: TargetName, config: Config, project: Omit<Project, "notes">): Exported {
  const { run, alike, volume } = EXPORTERS[target];
  // Behind HAProxy, all others stay with procman.
  const others = target === "haproxy" ? [] : [...pluginNotes(target, config), ...volumeNotes(volume)];
  const notes = [...others, ...portNotes(config)];
  const exported = run(workloadsOf(config, alike, project), { ...project, notes });
  return { ...exported, notes: [...notes, ...exported.notes] };
}

/** The number that "auto" has here may be taken where the files are used. */
function portNotes({ chosenPorts = {}, processes }: Config): readonly Note[] {
  return Object.entries(chosenPorts).flatMap(([id, port]) => {
    const spec = processes.find((each) => each.id === id);
    // Its program gets the port of its clients.
    if (spec?.front !== undefined && spec.cluster === undefined) return [];
    const owner = ownerOf(id);
    const inCluster = spec === undefined ? "cluster.commonPort" : "cluster.startPort";
    const ofProcess = owner === id ? "port" : "idle.port";
    const isAlone = processes.some((each) => each.id === owner && each.cluster === undefined);
    return {
      process: owner,
      field: isAlone ? ofProcess : inCluster,
      text: `"auto" has become ${port}, the port that it has here; check that it is free there`,
    };
  });
}

function pluginNotes(target: TargetName, { plugins }: Config): readonly Note[] {
  if (plugins.length === 0) return [];
  const names = plugins.map(({ url }) => url).join(", ");
  return [
    {
      field: "plugins",
      text: `${target} runs none (${names}): alerts, logs and metrics that they send need another way`,
    },
  ];
}

function volumeNotes(volume: string | undefined): readonly Note[] {
  if (volume === undefined) return [];
  return [
    {
      text: `files that a program writes are gone with its container: keep folders such as that of a database by ${volume}`,
    },
  ];
}
