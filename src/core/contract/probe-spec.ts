/** Probes: how procman finds out whether a process does its work. */

export type Probe =
  /** The process accepts connections on this port of the loopback address. */
  | { readonly kind: "port"; readonly port: number }
  /** The process answers with a status from 200 to 399. */
  | { readonly kind: "http"; readonly hostname: string; readonly port: number; readonly path: string }
  /** This command line ends with code 0. */
  | { readonly kind: "exec"; readonly line: string };

/** How a run becomes ready. */
export type ReadyProbe =
  | Probe
  /** A line of its output matches this regular expression. */
  | { readonly kind: "log"; readonly pattern: string }
  /** The process writes to this descriptor. */
  | { readonly kind: "fd"; readonly fd: number }
  /** The process sends the message "ready" by `process.send`. */
  | { readonly kind: "message" };

/** Health checks of a run. */
export type HealthSpec = {
  readonly probe: Probe;
  readonly intervalMs: number;
  /** For one check. */
  readonly timeoutMs: number;
  /** After this many failures in a row the run is unhealthy. */
  readonly failures: number;
  /** Time after the start of the run in which failures don't count. */
  readonly startMs: number;
};
