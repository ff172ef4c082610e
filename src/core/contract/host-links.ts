/** What the dashboard shows of several machines (`procman dashboard --host`). */

import type { RolloutRecord } from "./rollout-record.ts";

/** A machine, and the address that shows it, signed in. */
export type HostLink = { readonly host: string; readonly url: string };

/** The machine that a page shows, and all. */
export type HostList = { readonly current: string; readonly hosts: readonly HostLink[] };

export type HostSummary = {
  readonly host: string;
  readonly name?: string;
  readonly version?: string;
  /** Processes and instances; `attention`: those that aren't up although they were asked for, not ready, or not healthy. */
  readonly total?: number;
  readonly attention?: number;
  /** The rollout over several hosts that it takes part in, or the last one. */
  readonly rollout?: RolloutRecord;
  /** Why nothing is known. */
  readonly problem?: string;
};

/** Name of the element in the head of a page that has a `HostList`. */
export const HOSTS_META = "procman-hosts";
