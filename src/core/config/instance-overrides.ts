/** Overrides of the numbers of instances in the file, applied before the checks. */
import { isObject } from "../base/schema-check.ts";

/** The number for a cluster that has `own` in the file; undefined: no override. `isScaled`: it has `scale`. */
export type Scale = (cluster: string, own: number | "max", isScaled?: boolean) => number | undefined;

/** The data of a file, valid or not. */
export function scaled(data: unknown, scale: Scale): unknown {
  if (!isObject(data) || !Array.isArray(data.processes)) return data;
  return { ...data, processes: data.processes.map((process: unknown) => withCount(process, scale)) };
}

function withCount(process: unknown, scale: Scale): unknown {
  if (!isObject(process) || typeof process.id !== "string" || !isObject(process.cluster)) return process;
  const { instances } = process.cluster;
  if (typeof instances !== "number" && instances !== "max") return process;
  const wanted = scale(process.id, instances, process.scale !== undefined);
  return wanted === undefined ? process : { ...process, cluster: { ...process.cluster, instances: wanted } };
}
