/** How it is found out whether a process does its work. */

export type Probe =
  /** It accepts connections there, on the loopback address. */
  | { readonly kind: "port"; readonly port: number }
  /** It answers with a status from 200 to 399. */
  | { readonly kind: "http"; readonly hostname: string; readonly port: number; readonly path: string }
  /** This command line ends with code 0. */
  | { readonly kind: "exec"; readonly line: string };

/** How a run says that it is ready, or is seen to be. */
export type ReadyProbe =
  | Probe
  /** A line of its output matches this regular expression. */
  | { readonly kind: "log"; readonly pattern: string }
  /** It writes to this descriptor. */
  | { readonly kind: "fd"; readonly fd: number };

/** When a run is asked whether it is well, and how often it may fail. */
export type HealthSpec = {
  readonly probe: Probe;
  readonly intervalMs: number;
  /** For one answer. */
  readonly timeoutMs: number;
  /** So many in a row, and it is not well. */
  readonly failures: number;
  /** Since the start of the run: failures don't count yet. */
  readonly startMs: number;
};
