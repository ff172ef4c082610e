/** The ports of a configuration: those that it names by number, and those that procman chooses. */
import { TOP } from "./config-schema.ts";
import type { JsonPath } from "./document.ts";
import { instances } from "./instances.ts";
import type { PartialConfig, PartialProcess } from "./partial.ts";

/** A port that the file gives to a process or to an instance; to a cluster: its common port. */
export type PortField = {
  /** Id of the process, instance or cluster. */
  readonly id: string;
  readonly value: number | "auto";
  readonly path: JsonPath;
  /** Id of the process in the file, and the place among its ports: chosen ones follow each other where they can. */
  readonly process: string;
  readonly index: number;
};

export type PortRange = { readonly from: number; readonly to: number };

const FRONT = ":idle";

/** Under which the chosen `idle.port` of a process is kept: its id is that of the port behind it. */
function frontId(process: string): string {
  return `${process}${FRONT}`;
}

/** The process, instance or cluster that a port is kept for. */
export function ownerOf(id: string): string {
  return id.endsWith(FRONT) ? id.slice(0, -FRONT.length) : id;
}

/** As far as the file is valid. */
export function portFields({ processes = [] }: PartialConfig, parallelism: number): readonly PortField[] {
  return processes.flatMap((process, index) =>
    process === undefined ? [] : fieldsOf(process, ["processes", index], parallelism),
  );
}

function fieldsOf(
  { id: process = "", port: written, idle, cluster }: PartialProcess,
  path: JsonPath,
  parallelism: number,
): readonly PortField[] {
  if (cluster === undefined) {
    const front = [...path, "idle", "port"];
    // Its clients come on another one.
    const isBehind = written === undefined && idle?.port !== undefined;
    const value = isBehind ? "auto" : written;
    const own = { id: process, path: isBehind ? front : [...path, "port"], process, index: 0 };
    return [
      ...(value === undefined ? [] : [{ ...own, value }]),
      ...(idle?.port === "auto"
        ? [{ id: frontId(process), value: idle.port, path: front, process, index: 1 } as const]
        : []),
    ];
  }
  const { startPort, commonPort } = cluster;
  const common = { id: process, path: [...path, "cluster", "commonPort"], process, index: 0 };
  const ofInstances =
    startPort === undefined
      ? []
      : instances({ id: process, cluster }, "", parallelism).map(({ id }, index) => ({
          id,
          value: startPort === "auto" ? startPort : startPort + index,
          path: [...path, "cluster", "startPort"],
          process,
          index: index + 1,
        }));
  return [...(commonPort === undefined ? [] : [{ ...common, value: commonPort }]), ...ofInstances];
}

/** By id of a process or instance; by that of a cluster its common port. `chosen`: those that the file leaves to procman. */
export function portsById(
  config: PartialConfig,
  parallelism: number,
  chosen: ReadonlyMap<string, number> = new Map(),
): ReadonlyMap<string, number> {
  return new Map(
    portFields(config, parallelism).flatMap(({ id, value }) => {
      const port = value === "auto" ? chosen.get(id) : value;
      return port === undefined ? [] : [[id, port] as const];
    }),
  );
}

/** The ports that `{port:ID}` stands for: where clients come. */
export function namedPorts(
  { processes = [] }: PartialConfig,
  ports: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const fronts = processes.flatMap(({ id = "", idle } = {}) => {
    const port = idle?.port === "auto" ? ports.get(frontId(id)) : idle?.port;
    return port === undefined ? [] : [[id, port] as const];
  });
  return fronts.length === 0 ? ports : new Map([...ports, ...fronts]);
}

/** Ports that something in the file has by number. */
export function fixedPorts(config: PartialConfig, parallelism: number): ReadonlySet<number> {
  const { api, processes = [] } = config;
  const probed = processes.flatMap((process) => [process?.ready?.port, process?.health?.port, process?.idle?.port]);
  const named = [api === undefined || api === false ? undefined : api.port, ...probed];
  return new Set([
    ...portsById(config, parallelism).values(),
    ...named.flatMap((port) => (typeof port === "number" ? [port] : [])),
  ]);
}

export function rangeOf({ portRange = TOP.portRange.default }: Pick<PartialConfig, "portRange">): PortRange {
  const [from = 0, to = 0] = portRange.split("-").map(Number);
  return { from, to };
}
