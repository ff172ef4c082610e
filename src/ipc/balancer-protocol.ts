/**
 * What a service says to the balancer and hears from it: lines of JSON over a socket in the state folder, so that each service
 * can speak to a balancer that was there before it. All fields may only be added to: a balancer outlives an upgrade.
 */

export const STRATEGIES = ["round-robin", "least-connections", "ip-hash"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/**
 * `up`: its process runs; whether it accepts, the balancer finds out. `draining`: it gets no new connection, those that it has go on.
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
  /** Each connection begins with a header (version 2) that tells its client's address. */
  readonly proxyProtocol: boolean;
  /** A connection without traffic for so long is closed. Milliseconds; 0: never. */
  readonly idleMs: number;
  /** Most connections of a backend at a time. Absent: no limit. */
  readonly maxConnections?: number;
};

export type Front = FrontSpec & { readonly backends: readonly BackendSpec[] };

export type ToBalancer =
  /** All that is to be served from now on. Answered by `applied`. */
  | { readonly t: "fronts"; readonly serial: number; readonly fronts: readonly Front[] }
  /** From a keeper: this program takes over all ports, with whoever waits in their queues. Answered by `succeeded` or `unsucceeded`. */
  | { readonly t: "succeed"; readonly argv: readonly string[]; readonly env: Readonly<Record<string, string | undefined>> };

export type BackendReport = {
  readonly id: string;
  /** It accepts connections, as far as is known. */
  readonly accepting: boolean;
  /** Connections now. */
  readonly connections: number;
  /** Connections that it has had. */
  readonly total: number;
  /** From clients. */
  readonly bytesIn: number;
  /** To clients. */
  readonly bytesOut: number;
  /** Attempts to connect that failed; each was made again with another one. */
  readonly refused: number;
};

export type FrontReport = {
  readonly id: string;
  /** Why the port is not served; it is tried again and again. */
  readonly problem?: string;
  /** Connections that wait for a backend. */
  readonly waiting: number;
  /** Connections closed because none came, or turned away. */
  readonly rejected: number;
  /** So many files each of its processes may open, and clients have just been turned away for that. */
  readonly full?: number;
  readonly backends: readonly BackendReport[];
};

export type BalancerIdentity = { readonly pid: number; readonly startTime: string; readonly version: string };

export type FromBalancer =
  | ({ readonly t: "hello" } & BalancerIdentity)
  /** Another one takes all clients from now on; this one ends with its last connection. */
  | ({ readonly t: "succeeded" } & BalancerIdentity)
  /** Why the other one isn't fit; this one goes on. */
  | { readonly t: "unsucceeded"; readonly problem: string }
  /** Whoever is draining or down gets no connection any more, and no attempt at one is under way. */
  | { readonly t: "applied"; readonly serial: number }
  /** What has changed: at most ten times a second; all of it to whoever has just come. */
  | { readonly t: "report"; readonly fronts: readonly FrontReport[] };
