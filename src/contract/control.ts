/** All that can be asked of a running procman: one interface, implemented in process and over HTTP. */
import type { ProcessRecord, StateRecord } from "./records.ts";

export const ACTIONS = ["start", "stop", "restart", "block", "unblock"] as const;

export type Action = (typeof ACTIONS)[number];

export interface Control {
  processes(): Promise<readonly ProcessRecord[]>;
  /** Rejects with `process-unknown`. */
  process(id: string): Promise<ProcessRecord>;
  state(): Promise<StateRecord>;
  /** Resolves with the record right after the action was taken. Rejects with `process-unknown`, `process-blocked`, `process-running`, `process-leaving`. */
  act(id: string, action: Action): Promise<ProcessRecord>;
  /** Begins the end of everything. */
  terminate(): Promise<void>;
}
