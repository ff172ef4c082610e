/** The variables by which a process gets its port, and an instance of a cluster its number, too. */
import type { ProcessSpec } from "./spec.ts";

export const PORT_OF_INSTANCE = "PROCMAN_CLUSTER_PORT";
/** Where most programs look for their port. Set unless the configuration does. */
export const DEFAULT_PORT_VARIABLE = "PORT";

export function instanceVariables(cluster: ProcessSpec["cluster"]): Record<string, string> {
  if (cluster === undefined) return {};
  const { index, port } = cluster;
  return { PROCMAN_CLUSTER_INSTANCE: String(index), ...(port !== undefined && { [PORT_OF_INSTANCE]: String(port) }) };
}

type PortOwner = Pick<ProcessSpec, "cluster" | "port">;

/** The port that the specification gives to a process or an instance. */
export function ownPort({ cluster, port }: PortOwner): number | undefined {
  return cluster === undefined ? port : cluster.port;
}

/** Port, and number of an instance. `isSet`: whether the configuration may set the variable, so that it has no default. */
export function portVariables(spec: PortOwner, isSet: (name: string) => boolean): Record<string, string> {
  const { cluster } = spec;
  const port = ownPort(spec);
  const name = cluster?.portVariable ?? DEFAULT_PORT_VARIABLE;
  const isDefault = cluster?.portVariable === undefined;
  const own = port === undefined || (isDefault && isSet(name)) ? {} : { [name]: String(port) };
  return { ...own, ...instanceVariables(cluster) };
}
