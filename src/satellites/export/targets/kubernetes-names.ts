/** Names of objects in Kubernetes. */
import { withoutEnd } from "../../../core/base/text-end.ts";
import type { Project, Workload } from "../workload.ts";

export type Manifest = Readonly<Record<string, unknown>>;

/** A CronJob adds 11 characters for its jobs, which have at most 63. */
const MAX_LENGTH = 52;

/** Small letters, digits and hyphens; it begins with a letter, as a Service must. */
export function kubernetesName(id: string): string {
  const name = id.replace(/[^a-z0-9-]/g, "-").replace(/^-+/, "");
  return withoutEnd((/^[a-z]/.test(name) ? name : `p-${name}`).slice(0, MAX_LENGTH), "-");
}

/** The Secret with the variables that were given to a process; with an index: with those of one of its env files. */
export function secretNameOf({ process }: Workload, project: Project, file?: number): string {
  return `${kubernetesName(project.name)}-${kubernetesName(process)}${file === undefined ? "" : `-env${file === 0 ? "" : file + 1}`}`;
}
