/** Ids, ports and pid files that two processes claim. */
import { type JsonPath, showPath } from "../document.ts";
import { DEFAULT_NAME } from "../find-config.ts";
import { count, instances } from "../instances.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, type NameOf, show } from "../problems.ts";
import { fill, hasInstancePlaceholder, unknownPlaceholder } from "./command-checks.ts";
import { pathIn } from "./home-paths.ts";
import { atItsLargest } from "./scale-checks.ts";

type ProcessEntry = { readonly process: PartialProcess; readonly path: JsonPath };
type NamedEntry = ProcessEntry & { readonly process: { readonly id: string } };

/** An id, and its owner in words. */
type IdClaim = { readonly id: string; readonly what: string };

const LAST_PORT = 65_535;

/** Duplicate ids, and ids that an instance of a cluster has too. */
type CollisionContext = { readonly parallelism: number; readonly nameOf?: NameOf };

export function idCollisions(
  config: PartialConfig,
  { parallelism, nameOf = showPath }: CollisionContext,
): readonly Finding[] {
  const owners = new Map<string, IdClaim & { readonly path: JsonPath }>();
  const findings: Finding[] = [];
  for (const { process, path } of named(config, parallelism)) {
    const { id } = process;
    const at = [...path, "id"];
    const message = 'Found "all", which stands for all processes in commands; allowed: another id.';
    if (id === "all") findings.push({ path: at, message });
    const own = [{ id, what: `the process ${show(id)}` }, ...clusterIds(process, parallelism)];
    const taken = own.flatMap((claim) => owners.get(claim.id) ?? [])[0];
    if (taken !== undefined) findings.push({ path: at, message: collision(id, taken, nameOf) });
    for (const claim of own) if (!owners.has(claim.id)) owners.set(claim.id, { ...claim, path: at });
  }
  return findings;
}

function clusterIds(process: PartialProcess, parallelism: number): readonly IdClaim[] {
  if (process.cluster === undefined) return [];
  return instances(process, "", parallelism).map(({ id, instance }) => ({
    id,
    what: `instance ${instance} of the cluster ${show(process.id)}`,
  }));
}

function collision(
  id: string,
  { id: taken, path, what }: IdClaim & { readonly path: JsonPath },
  nameOf: NameOf,
): string {
  const found = id === taken ? `Found ${show(id)}` : `Found ${show(id)}, which has an instance ${show(taken)}`;
  return `${found}; ${nameOf(path)} already has the same id, for ${what}. Allowed: unique ids.`;
}

type Ports = { readonly from: number; readonly to: number; readonly path: JsonPath };

/** Overlapping ports, ranges beyond the last port, and common ports without instance ports. */
export function portCollisions(
  config: PartialConfig,
  { parallelism, nameOf = showPath }: CollisionContext,
): readonly Finding[] {
  const numbered = entries(config, parallelism).flatMap(({ process, path }) =>
    numberedPorts(process, path, parallelism),
  );
  const port = portOfApi(config);
  const all = [...numbered, ...(port === undefined ? [] : [single(port, ["api", "port"])])];
  const overlaps = all.flatMap((ports, index) => {
    const earlier = all.slice(0, index).find((other) => other.from <= ports.to && ports.from <= other.to);
    return earlier === undefined ? [] : [{ path: ports.path, message: overlap(ports, earlier, nameOf) }];
  });
  return [
    ...entries(config, parallelism).flatMap(({ process, path }) => clusterErrors(process, path, parallelism)),
    ...overlaps,
  ];
}

function portOfApi({ api }: PartialConfig): number | undefined {
  return api === undefined || api === false ? undefined : api.port;
}

/** Ports by number: of a process, of instances, of a cluster. */
function numberedPorts(
  { cluster, port, idle, ...process }: PartialProcess,
  path: JsonPath,
  parallelism: number,
): readonly Ports[] {
  const { startPort, commonPort } = cluster ?? {};
  const own = typeof port === "number" ? [single(port, [...path, "port"])] : [];
  const first = typeof startPort === "number" ? startPort : undefined;
  const to = (first ?? 0) + count({ ...process, cluster }, parallelism) - 1;
  const range = first === undefined ? [] : [{ from: first, to, path: [...path, "cluster", "startPort"] }];
  const common = typeof commonPort === "number" ? [single(commonPort, [...path, "cluster", "commonPort"])] : [];
  const front = typeof idle?.port === "number" ? [single(idle.port, [...path, "idle", "port"])] : [];
  return [...own, ...range, ...common, ...front];
}

function clusterErrors(process: PartialProcess, path: JsonPath, parallelism: number): readonly Finding[] {
  const cluster = process.cluster ?? {};
  const first = typeof cluster.startPort === "number" ? cluster.startPort : 0;
  const last = first + count(process, parallelism) - 1;
  const findings: Finding[] = [];
  if (last > LAST_PORT)
    findings.push({
      path: [...path, "cluster", "startPort"],
      message: `Found ${first}, which gives the last of ${count(process, parallelism)} instances the port ${last}; allowed: up to ${LAST_PORT}.`,
    });
  findings.push(...portVariableErrors(process, path));
  if (cluster.mode === "share") return [...findings, ...sharingErrors(process, [...path, "cluster"])];
  if ("commonPort" in cluster && !("startPort" in cluster))
    findings.push({
      path: [...path, "cluster", "commonPort"],
      at: "key",
      message: 'Found "commonPort" without "startPort"; each instance needs a port behind it, or use "mode": "share".',
    });
  return findings;
}

function portVariableErrors({ cluster, env = {} }: PartialProcess, path: JsonPath): readonly Finding[] {
  const name = cluster?.portVariable;
  if (name === undefined) return [];
  const portless = 'Found "portVariable" without "startPort", from which the instances get their ports.';
  if (!("startPort" in (cluster ?? {})))
    return [{ path: [...path, "cluster", "portVariable"], message: portless, at: "key" }];
  const message = `Found ${show(name)}, which "cluster.portVariable" sets. Remove one of them.`;
  return Object.hasOwn(env, name) ? [{ path: [...path, "env", name], message, at: "key" }] : [];
}

/** Fields that only the load balancer supports. */
const BALANCER_ONLY = ["strategy", "proxyProtocol", "idleTimeout", "maxConnections"] as const;

function sharingErrors({ cluster = {}, ready }: PartialProcess, path: JsonPath): readonly Finding[] {
  const findings: Finding[] = BALANCER_ONLY.filter((key) => key in cluster).map((key) => ({
    path: [...path, key],
    at: "key",
    message: `Found ${show(key)} with "mode": "share": there is no load balancer, the kernel gives each connection to a free instance. Remove it, or "mode".`,
  }));
  if (!("commonPort" in cluster))
    findings.push({
      path: [...path, "mode"],
      message: 'Found "share" without "commonPort", the port that the instances share.',
    });
  if (ready?.fd === 3)
    findings.push({
      path: [...path.slice(0, -1), "ready", "fd"],
      message: 'Found 3, which is the shared socket with "mode": "share"; allowed: a whole number from 4 to 9.',
    });
  return findings;
}

function single(port: number, path: JsonPath): Ports {
  return { from: port, to: port, path };
}

function overlap(ports: Ports, earlier: Ports, nameOf: NameOf): string {
  const range = ({ from, to }: Ports): string => (from === to ? `${from}` : `${from}-${to}`);
  if (nameOf(ports.path) === nameOf(earlier.path))
    return `Found ${range(ports)}, but a port belongs to one process only. Give each another one, or write "auto".`;
  const first = Math.max(ports.from, earlier.from);
  return `Found ${range(ports)}; port ${first} belongs to ${nameOf(earlier.path)} (${range(earlier)}) already. Allowed: ports that don't overlap.`;
}

/** Processes that would write the same pid file. */
export function pidFileCollisions(
  config: PartialConfig,
  { folder, parallelism, nameOf = showPath }: CollisionContext & { readonly folder: string },
): readonly Finding[] {
  const owners = new Map<string, string>();
  const findings: Finding[] = [];
  for (const { process, path } of named(config, parallelism)) {
    const pattern = process.pidFile;
    if (pattern === undefined || unknownPlaceholder(pattern) !== undefined) continue;
    const at = [...path, "pidFile"];
    if (count(process, parallelism) > 1 && !hasInstancePlaceholder(pattern)) {
      findings.push({
        path: at,
        message: `Found ${show(pattern)} for a cluster; allowed: a path with {id} or {instance}, so that each instance has a separate file.`,
      });
      continue;
    }
    const files = instances(process, config.name ?? DEFAULT_NAME, parallelism).map((names) =>
      pathIn(folder, fill(pattern, names), process.user),
    );
    const taken = files.find((file) => owners.has(file));
    const message = `Found ${show(pattern)}, which ${owners.get(taken ?? "")} already uses; allowed: a separate pid file for each process.`;
    if (taken !== undefined) findings.push({ path: at, message });
    for (const file of files) owners.set(file, owners.get(file) ?? nameOf(at));
  }
  return findings;
}

/** With all the instances that they may get. */
function entries(config: PartialConfig, parallelism: number): readonly ProcessEntry[] {
  return (config.processes ?? []).flatMap((process, index) =>
    process === undefined ? [] : [{ process: atItsLargest(process, parallelism), path: ["processes", index] }],
  );
}

/** Processes with a valid id. */
function named(config: PartialConfig, parallelism: number): readonly NamedEntry[] {
  return entries(config, parallelism).filter((entry): entry is NamedEntry => entry.process.id !== undefined);
}

/** Ports that browsers and `fetch` refuse, as other protocols live there: https://fetch.spec.whatwg.org/#port-blocking. */

const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

/** A warning only: the CLI works with these ports. */
export function refusedPortWarnings(config: PartialConfig): readonly Finding[] {
  const port = portOfApi(config);
  if (port === undefined || !BLOCKED_PORTS.has(port)) return [];
  const message = `Found ${show(port)}: browsers and \`fetch\` block this port, which belongs to another protocol, so pages and most libraries can't reach the API. Choose another.`;
  return [{ path: ["api", "port"], message }];
}
