/**
 * Messages between service and balancer: JSON lines over a socket in the state folder, so that a new service can talk to a running
 * balancer. Fields may only be added: a balancer outlives an upgrade.
 */

export const STRATEGIES = ["round-robin", "least-connections", "ip-hash"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/**
 * `up`: its process runs; the balancer finds out whether it accepts. `draining`: it gets no new connections and keeps those it has.
 * `down`: it has no process.
 */
export type BackendState = "up" | "draining" | "down";

export type BackendSpec = { readonly id: string; readonly port: number; readonly state: BackendState };

/** How a common port is served. */
export type FrontSpec = {
  /** Id of the cluster. */
  readonly id: string;
  readonly hostname: string;
  readonly port: number;
  readonly strategy: Strategy;
  /** Each connection begins with a PROXY header (version 2) with its client's address. */
  readonly proxyProtocol: boolean;
  /** A connection without traffic for this long is closed. Milliseconds; 0: never. */
  readonly idleMs: number;
  /** Most connections of a backend at a time. Absent: no limit. */
  readonly maxConnections?: number;
};

export type Front = FrontSpec & { readonly backends: readonly BackendSpec[] };

export type ToBalancer =
  /** All frontends to serve from now on. Answered by `applied`. */
  | { readonly t: "fronts"; readonly serial: number; readonly fronts: readonly Front[] }
  /** From a keeper: start this program and hand over all listening sockets, with the connections in their queues. Answered by `succeeded` or `unsucceeded`. */
  | { readonly t: "succeed"; readonly argv: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> };

export type BackendReport = {
  readonly id: string;
  /** It accepts connections, as far as is known. */
  readonly accepting: boolean;
  /** Connections now. */
  readonly connections: number;
  /** Connections so far. */
  readonly total: number;
  /** From clients. */
  readonly bytesIn: number;
  /** To clients. */
  readonly bytesOut: number;
  /** Attempts to connect that failed; each was repeated with another backend. */
  readonly refused: number;
};

export type FrontReport = {
  readonly id: string;
  /** Why the port is not served; the balancer keeps trying. */
  readonly problem?: string;
  /** Connections that wait for a backend. */
  readonly waiting: number;
  /** Connections closed because no backend came, or turned away. */
  readonly rejected: number;
  /** Limit of open files of each balancer process; present while clients are turned away for it. */
  readonly full?: number;
  readonly backends: readonly BackendReport[];
};

export type BalancerIdentity = { readonly pid: number; readonly startTime: string; readonly version: string };

export type FromBalancer =
  | ({ readonly t: "hello" } & BalancerIdentity)
  /** Another balancer accepts all clients from now on; this one ends with its last connection. */
  | ({ readonly t: "succeeded" } & BalancerIdentity)
  /** Why the other balancer failed; this one stays. */
  | { readonly t: "unsucceeded"; readonly problem: string }
  /** Backends that are draining or down get no more connections, and no attempt is under way. */
  | { readonly t: "applied"; readonly serial: number }
  /** All frontends: when something has changed, at most ten times a second, and to each new service. */
  | { readonly t: "report"; readonly fronts: readonly FrontReport[] };
