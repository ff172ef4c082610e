/**
 * Messages between service and balancer: JSON lines over a socket in the state folder, so that a new service can talk
 * to a running balancer. Fields may only be added: a balancer outlives an upgrade.
 */
import {
  boolean,
  enumeration,
  integer,
  list,
  map,
  number,
  openObject,
  optional,
  type Schema,
  string,
} from "../base/schema.ts";
import { matches, violations } from "../base/schema-check.ts";

export const STRATEGIES = ["round-robin", "least-connections", "ip-hash"] as const;

export type Strategy = (typeof STRATEGIES)[number];

/** What wakes instances that sleep: a connection, or the first byte of a client. */
export const WAKE_ON = ["connect", "data"] as const;

/**
 * `up`: its process runs; the balancer finds out whether it accepts. `draining`: it gets no new connections and keeps
 * those it has.
 * `down`: it has no process.
 */
export type BackendState = "up" | "draining" | "down";

export type BackendSpec = {
  readonly id: string;
  readonly port: number;
  readonly state: BackendState;
  /** Leader of its run: while another program holds the port, the backend gets no connections. Absent: not known, as to earlier versions. */
  readonly pid?: number;
  /** User of its run; absent: procman's. */
  readonly uid?: number;
  /**
   * 16 hexadecimal digits. If its program answers a header with this token, it reads headers: each connection begins
   * with one, whatever
   * `proxyProtocol` says.
   */
  readonly proxyToken?: string;
};

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
  /** How clients wake its instances. Absent: they don't sleep. */
  readonly wake?: {
    readonly on: (typeof WAKE_ON)[number];
    /** How long a client waits for them. Milliseconds. */
    readonly timeoutMs: number;
    /** Addresses and networks of clients that neither wake them nor keep them awake. */
    readonly ignore?: readonly string[];
  };
};

/**
 * `closed`: clients are refused, as no instance runs or is about to. `asleep`: no instance gets connections; clients
 * wait, and the first is reported at once.
 */
export type Front = FrontSpec & {
  readonly backends: readonly BackendSpec[];
  readonly closed?: boolean;
  readonly asleep?: boolean;
};

export const WAKE: Schema<NonNullable<FrontSpec["wake"]>> = openObject({
  on: enumeration(WAKE_ON),
  timeoutMs: number({ minimum: 0 }),
  ignore: optional(list(string())),
});

const FRONT: Schema = openObject({
  id: string({ minLength: 1 }),
  hostname: string({ minLength: 1 }),
  port: integer({ minimum: 0, maximum: 65_535 }),
  strategy: enumeration(STRATEGIES),
  proxyProtocol: boolean(),
  idleMs: number({ minimum: 0 }),
  maxConnections: optional(integer({ minimum: 1 })),
  wake: optional(WAKE),
  closed: optional(boolean()),
  asleep: optional(boolean()),
  backends: list(
    openObject({
      id: string({ minLength: 1 }),
      port: integer({ minimum: 0, maximum: 65_535 }),
      state: enumeration(["up", "draining", "down"]),
      pid: optional(integer({ minimum: 1 })),
      uid: optional(integer({ minimum: 0 })),
      proxyToken: optional(string({ pattern: "^[0-9a-f]{16}$" })),
    }),
  ),
});

const REQUESTS: Readonly<Record<ToBalancer["t"], Schema>> = {
  fronts: openObject({ serial: integer(), fronts: list(FRONT) }),
  succeed: openObject({ argv: list(string(), { minItems: 1 }), env: map(string()) }),
};

/** Why this is not a message to a balancer; undefined if it is one. */
export function problemOf(message: unknown): string | undefined {
  const kind = (message as Partial<ToBalancer> | null)?.t;
  const schema = typeof kind === "string" && Object.hasOwn(REQUESTS, kind) ? REQUESTS[kind] : undefined;
  if (schema === undefined) return `no message has the type ${JSON.stringify(kind)}`;
  const [fault] = violations(message, schema);
  return fault === undefined
    ? undefined
    : `${["message", ...fault.path].join(".")} is not as it must be (${fault.keyword})`;
}

export type ToBalancer =
  /** All frontends to serve from now on. Answered by `applied`. */
  | { readonly t: "fronts"; readonly serial: number; readonly fronts: readonly Front[] }
  /** From a keeper: start this program and hand over all listening sockets, with the connections in their queues. Answered by `succeeded` or `unsucceeded`. */
  | {
      readonly t: "succeed";
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string | undefined>>;
    };

export type BackendReport = {
  readonly id: string;
  /** Whether the backend accepts connections, as far as is known. */
  readonly accepting: boolean;
  /** Connections now. */
  readonly connections: number;
  /** Connections so far. */
  readonly total: number;
  /** From clients. */
  readonly bytesIn: number;
  /** To clients. */
  readonly bytesOut: number;
  /** Another program accepts connections on its port. */
  readonly foreign?: boolean;
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
  /** Clients that wait and wake its instances, if these sleep. Absent: of an earlier version, which knows no sleep; each client that waits does. */
  readonly waking?: number;
  /** Connections of clients that keep its instances awake: now, and so far. Absent: all do. */
  readonly counted?: { readonly connections: number; readonly total: number };
  /** Limit of open files of each balancer process; present while clients are turned away for it. */
  readonly full?: number;
  readonly backends: readonly BackendReport[];
};

const IDENTITY: Schema = openObject({
  pid: optional(number()),
  startTime: optional(string()),
  version: optional(string()),
});
const PROBLEM: Schema = openObject({ problem: string() });

const ANSWERS: Readonly<Record<FromBalancer["t"], Schema>> = {
  hello: IDENTITY,
  succeeded: IDENTITY,
  unsucceeded: PROBLEM,
  refused: PROBLEM,
  applied: openObject({ serial: number() }),
  report: openObject({ fronts: list(openObject({ id: string(), backends: list(openObject({ id: string() })) })) }),
};

/** Whether it has what its type says: another program may have taken the balancer's place. A type that a later balancer adds is passed, too. */
export function isAnswer(message: Pick<FromBalancer, "t">): boolean {
  if (typeof message.t !== "string") return false;
  return !Object.hasOwn(ANSWERS, message.t) || matches(message, ANSWERS[message.t]);
}

export type BalancerIdentity = { readonly pid: number; readonly startTime: string; readonly version: string };

export type FromBalancer =
  | ({ readonly t: "hello" } & BalancerIdentity)
  /** Another balancer accepts all clients from now on; this one ends with its last connection. */
  | ({ readonly t: "succeeded" } & BalancerIdentity)
  /** Why the other balancer failed; this one stays. */
  | { readonly t: "unsucceeded"; readonly problem: string }
  /** A line could not be used, and changed nothing. */
  | { readonly t: "refused"; readonly problem: string }
  /** Backends that are draining or down get no more connections, and no attempt is under way. */
  | { readonly t: "applied"; readonly serial: number }
  /** All frontends: when something has changed, about ten times a second, at once when a client wakes instances or before `applied` if some sleep, and to each new service. */
  | { readonly t: "report"; readonly fronts: readonly FrontReport[] };
