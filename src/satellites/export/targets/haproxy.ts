/** The configuration of an HAProxy in place of procman's load balancer: for the instances of this machine, or in a network of containers. */
import { addressText } from "../../../core/base/address-text.ts";
import type { FrontSpec } from "../../../core/ipc/balancer-protocol.ts";
import { comments, type Exported, type Note, oneLine, type Project, seconds, type Workload } from "../workload.ts";

/** A common port with the workloads that serve it. */
type CommonPort = { readonly front: FrontSpec; readonly servers: readonly Workload[] };

const BALANCE: Readonly<Record<FrontSpec["strategy"], string>> = {
  "round-robin": "roundrobin",
  "least-connections": "leastconn",
  "ip-hash": "source",
};
/** The longest time that HAProxy knows. */
const NEVER = "24d";
const CHECK_INTERVAL_MS = 2_000;
const CHECK_FAILURES = 3;

export function commonPortsOf(workloads: readonly Workload[]): readonly CommonPort[] {
  const found = new Map<string, { front: FrontSpec; servers: Workload[] }>();
  for (const workload of workloads) {
    const { process, spec } = workload;
    if (spec.front === undefined) continue;
    const frontend = found.get(process) ?? { front: spec.front, servers: [] };
    frontend.servers.push(workload);
    found.set(process, frontend);
  }
  return [...found.values()];
}

export function exportHaproxy(workloads: readonly Workload[], project: Project): Exported {
  const config = balancerConfig(commonPortsOf(workloads), project, { isInNetwork: false });
  if (config === undefined) {
    const text =
      'no cluster has a commonPort with the mode "balance", so there is nothing to balance; give one "commonPort" and "startPort"';
    return { files: [], notes: [{ text, blocks: true }] };
  }
  return { files: [{ name: "haproxy.cfg", text: config.text }], notes: config.notes };
}

/** `isInNetwork`: servers are other containers, by name, which may come and go. undefined: there is nothing to balance. */
export function balancerConfig(
  frontends: readonly CommonPort[],
  project: Project,
  { isInNetwork }: { readonly isInNetwork: boolean },
): { readonly text: string; readonly notes: readonly Note[] } | undefined {
  if (frontends.length === 0) return undefined;
  const notes = isInNetwork ? [] : frontends.flatMap(leftToDo);
  const text = [
    `${comments(project, notes)}`,
    "defaults",
    "    mode tcp",
    "    timeout connect 5s",
    `    timeout client ${NEVER}`,
    `    timeout server ${NEVER}`,
    "    timeout queue 10s",
    "    retries 3",
    "    option redispatch",
    "",
    ...(isInNetwork ? ["resolvers docker", "    nameserver dns 127.0.0.11:53", "    hold valid 1s", ""] : []),
    ...frontends.flatMap((frontend) => [
      ...frontendLines(frontend, isInNetwork),
      ...backendLines(frontend, isInNetwork),
    ]),
  ].join("\n");
  return { text, notes };
}

/** What the configuration of procman must lose, as HAProxy takes the place of its load balancer. */
function leftToDo({ front: { id }, servers }: CommonPort): readonly Note[] {
  const [spec] = servers.map((server) => server.spec);
  return [
    { process: id, field: "cluster.commonPort", text: FREE_PORT },
    ...(spec?.idle === undefined ? [] : [{ process: id, field: "idle", text: STAYS_AWAKE }]),
    ...(spec?.scale === undefined ? [] : [{ process: id, field: "scale", text: STAYS_AS_IT_IS }]),
  ];
}

const FREE_PORT = "procman's load balancer has this port: remove commonPort and procman reload before HAProxy starts";
const STAYS_AWAKE = "HAProxy wakes nothing: remove idle, too; it runs all the time";
const STAYS_AS_IT_IS = "HAProxy sends to these instances alone: remove scale, too; their number is fixed";

function frontendLines({ front: { id, hostname, port, idleMs } }: CommonPort, isInNetwork: boolean): readonly string[] {
  const address = isInNetwork ? `:${port}` : addressText({ hostname, port });
  const idle = idleMs === 0 ? [] : [`    timeout client ${Math.ceil(idleMs)}ms`];
  return [`frontend ${id}`, `    bind ${address}`, ...idle, `    default_backend ${id}`, ""];
}

function backendLines({ front, servers }: CommonPort, isInNetwork: boolean): readonly string[] {
  const { id, strategy, idleMs } = front;
  const probe = servers[0]?.spec.health?.probe;
  const check =
    probe?.kind === "http"
      ? [
          `    option httpchk GET ${oneLine(probe.path).replaceAll(/[\s\\"'#]/g, "\\$&")}`,
          "    http-check expect status 200-399",
        ]
      : [];
  return [
    `backend ${id}`,
    `    balance ${BALANCE[strategy]}`,
    ...(idleMs === 0 ? [] : [`    timeout server ${Math.ceil(idleMs)}ms`]),
    ...check,
    ...servers.map((server) => `    ${serverLine(server, front, isInNetwork)}`),
    "",
  ];
}

function serverLine(
  { id, replicas, spec }: Workload,
  { maxConnections, proxyProtocol }: FrontSpec,
  isInNetwork: boolean,
): string {
  const { intervalMs, failures } = spec.health ?? { intervalMs: CHECK_INTERVAL_MS, failures: CHECK_FAILURES };
  const options = [
    `check inter ${seconds(intervalMs) * 1_000}ms fall ${failures}`,
    ...(maxConnections === undefined ? [] : [`maxconn ${maxConnections}`]),
    ...(proxyProtocol ? ["send-proxy-v2"] : []),
    ...(isInNetwork ? ["resolvers docker init-addr libc,none"] : []),
  ].join(" ");
  const place = `${isInNetwork ? id : "127.0.0.1"}:${spec.cluster?.port ?? 0}`;
  return isInNetwork ? `server-template ${id}- ${replicas} ${place} ${options}` : `server ${id} ${place} ${options}`;
}
