/** The lines of the journal, and what is none: files are read with care, whoever wrote them. */
import type { EndReport, Running } from "../contract/keeper-protocol.ts";
import type { Capture } from "../contract/logger-protocol.ts";
import type { LoggerProcess } from "./former-logger.ts";

export type Entry =
  /** It is about to be started: written before the fork, so that no later keeper starts it once more. */
  | { readonly t: "asked"; readonly slot: string; readonly run: number }
  | { readonly t: "run"; readonly record: Running }
  | ({ readonly t: "capture"; readonly key: string } & CaptureRecord)
  | { readonly t: "end"; readonly record: EndReport }
  | { readonly t: "ack"; readonly slot: string; readonly run: number }
  /** All output of the run is written: its FIFOs are free. */
  | { readonly t: "drained"; readonly key: string }
  | ({ readonly t: "logger" } & LoggerProcess)
  /** A logger has ended, and what it left is in the hands of another. */
  | { readonly t: "logger-gone"; readonly pid: number }
  | ({ readonly t: "balancer" } & BalancerProcess)
  | { readonly t: "balancer-gone"; readonly pid: number }
  /** "": it is forgotten. */
  | { readonly t: "note"; readonly id: string; readonly note: string };

export type BalancerProcess = { readonly pid: number; readonly startTime: string };

/** Output of a run that may not all be written yet, whether the run lives or not. */
export type CaptureRecord = { readonly fifos: number; readonly capture: Capture };

export function keyOf({ slot, run }: { readonly slot: string; readonly run: number }): string {
  return `${slot}#${run}`;
}

export function isEntry(value: object): value is Entry {
  const { t, record, key, capture, slot, run, pid, id, note, fifos } = value as Readonly<Record<string, unknown>>;
  switch (t) {
    case "run":
      return isRun(record) && typeof record.pid === "number" && record.pid > 1 && typeof record.startTime === "string";
    case "end":
      return isRun(record) && (record.t === "exited" || record.t === "failed");
    case "asked":
    case "ack":
      return typeof slot === "string" && typeof run === "number";
    case "capture":
      return typeof key === "string" && typeof fifos === "number" && typeof capture === "object" && capture !== null;
    case "drained":
      return typeof key === "string";
    case "logger":
    case "logger-gone":
    case "balancer":
    case "balancer-gone":
      return typeof pid === "number" && pid > 1;
    case "note":
      return typeof id === "string" && typeof note === "string";
    default:
      return false;
  }
}

function isRun(record: unknown): record is Readonly<Record<string, unknown>> {
  if (typeof record !== "object" || record === null) return false;
  const { slot, run } = record as Readonly<Record<string, unknown>>;
  return typeof slot === "string" && typeof run === "number";
}
