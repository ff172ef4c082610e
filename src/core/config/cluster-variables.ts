/** The variables by which an instance of a cluster gets its number and its port. */
import type { ProcessSpec } from "./spec.ts";

export const PORT_OF_INSTANCE = "PROCMAN_CLUSTER_PORT";
/** Where most programs look for their port. Set unless the configuration does. */
export const DEFAULT_PORT_VARIABLE = "PORT";

export function instanceVariables(cluster: ProcessSpec["cluster"]): Record<string, string> {
  if (cluster === undefined) return {};
  const { index, port } = cluster;
  return { PROCMAN_CLUSTER_INSTANCE: String(index), ...(port !== undefined && { [PORT_OF_INSTANCE]: String(port) }) };
}

/** Number and port of an instance. `isSet`: whether the configuration may set the variable, so that it has no default. */
export function clusterVariables(
  cluster: ProcessSpec["cluster"],
  isSet: (name: string) => boolean,
): Record<string, string> {
  const { port, portVariable } = cluster ?? {};
  const name = portVariable ?? DEFAULT_PORT_VARIABLE;
  const own = port === undefined || (portVariable === undefined && isSet(name)) ? {} : { [name]: String(port) };
  return { ...own, ...instanceVariables(cluster) };
}
