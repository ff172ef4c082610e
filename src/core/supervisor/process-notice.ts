/** Events of a process other than the transitions of its slots. */
import type { ChangeEffect } from "./definition.ts";
import type { FileEffect } from "./file-change.ts";
import type { MissedSchedule } from "./snapshot.ts";
import type { ScheduledAction } from "./states.ts";

export type ProcessEvent =
  | { readonly type: "blocked" | "unblocked" | "disabled" | "enabled" }
  | { readonly type: "scheduled" | "skipped" | "terminated"; readonly planned: number; readonly reason?: string }
  /** procman was not running at these times. */
  | ({ readonly type: "missed"; readonly kind: ScheduledAction } & MissedSchedule)
  | { readonly type: "changed"; readonly fields: readonly string[]; readonly effect: ChangeEffect }
  /** The process slept, and a client has come, or `dependent` needs it. */
  | { readonly type: "woken"; readonly dependent?: string }
  /** The process is restarted because its dependency `id` was. */
  | { readonly type: "follows"; readonly id: string }
  /** Names of changed watched files; only the first of very many. */
  | { readonly type: "watch"; readonly files: readonly string[]; readonly count: number; readonly effect: FileEffect }
  /** The configuration no longer has the process. */
  | { readonly type: "removed"; readonly isIdle: boolean };
