/** What the control surface shows. Times are ISO 8601 in UTC; durations and sizes name their unit; what has no value is absent. */

/** `mixed`: the instances of a cluster don't agree. */
export type Status =
  | "created"
  | "waiting"
  | "starting"
  | "running"
  | "stopping"
  | "backoff"
  | "stopped"
  | "finished"
  | "errored"
  | "exhausted"
  | "mixed";

export type ProcessRecord = {
  readonly id: string;
  readonly type: "process" | "worker" | "cluster";
  readonly status: Status;
  readonly blocked: boolean;
  readonly pid?: number;
  /** Number of its latest run, from 1. */
  readonly run?: number;
  /** Restarts since the count was last cleared. */
  readonly restarts: number;
  /** How the last run ended. */
  readonly code?: number;
  readonly signal?: string;
  readonly started?: string;
  readonly exited?: string;
  readonly nextRun?: string;
  readonly nextTerminate?: string;
  readonly nextRestart?: string;
  /** One sentence: why it is in this state. */
  readonly reason: string;
  /** Number from 1, for an instance of a cluster. */
  readonly instance?: number;
  readonly cluster?: string;
  readonly instances?: readonly ProcessRecord[];
  /** Of an instance behind the load balancer. */
  readonly backend?: BackendRecord;
  /** Of a cluster with a common port. */
  readonly balancer?: BalancerRecord;
};

/** What the load balancer says of an instance; counted since the load balancer was started. */
export type BackendRecord = {
  readonly port: number;
  /** It gets connections. */
  readonly accepting: boolean;
  /** Open now. */
  readonly connections: number;
  readonly totalConnections: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Connections that it refused; each client got another instance. */
  readonly refused: number;
};

export type BalancerRecord = {
  readonly hostname: string;
  readonly port: number;
  readonly strategy: string;
  /** Why nobody listens there; it is tried again and again. */
  readonly problem?: string;
  /** Clients that wait for an instance. */
  readonly waiting: number;
  /** Clients that waited in vain. */
  readonly rejected: number;
};

export type StateRecord = {
  readonly name: string;
  readonly version: string;
  /** Of the keeper: the one to signal. */
  readonly pid: number;
  readonly status: "running" | "terminating";
  readonly started: string;
  readonly uptimeSeconds: number;
  readonly configFile: string;
  readonly processes: { readonly total: number } & Readonly<Partial<Record<Status, number>>>;
};

/** Where a running procman is reached, as its `endpoint.json` says. */
export type Endpoint = {
  readonly hostname: string;
  readonly port: number;
  /** Of the service, and when that started: an endpoint of a dead one is no endpoint. */
  readonly pid: number;
  readonly startTime: string;
  readonly keeper: number;
  readonly version: string;
  /** Why nothing listens there, as when the port is taken; the service runs all the same. */
  readonly problem?: string;
};

/** An error as RFC 9457 has it. */
export type ProblemRecord = {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
};
