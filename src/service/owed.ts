/** Whom a SIGTERM or a message is owed that waits for the balancer, as a later service reads it. */

import { literal, number, optional, record, text, truth } from "../base/shape.ts";
import { STOP_SIGNALS, type StopSignal } from "../base/stop-signals.ts";

/** `signal`: absent: SIGTERM. `drain`: the message to a worker, in place of the signal. */
export type Owed = { readonly slot: string; readonly run: number; readonly signal?: StopSignal; readonly drain?: boolean };

const isOwed = record({ slot: text, run: number, signal: optional(literal(...STOP_SIGNALS)), drain: optional(truth) });

/** Notes may be lost, torn or strange. */
export function readOwed(note: string | undefined): readonly Owed[] {
  try {
    const owed: unknown = note === undefined ? [] : JSON.parse(note);
    return Array.isArray(owed) ? owed.filter((each): each is Owed => isOwed(each)) : [];
  } catch {
    return [];
  }
}
