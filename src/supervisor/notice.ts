/** What the supervisor says of a process beside the transitions of its slots. */
import type { Effect } from "./change.ts";
import type { FileEffect } from "./file-change.ts";
import type { Missed } from "./schedule.ts";
import type { Kind } from "./timetable.ts";

export type Notice =
  | { readonly type: "blocked" | "unblocked" }
  | { readonly type: "scheduled" | "skipped" | "terminated"; readonly planned: number; readonly reason?: string }
  /** Nobody was there at these times. `isCapped`: there are more than were counted. */
  | ({ readonly type: "missed"; readonly kind: Kind; readonly isCapped: boolean } & Missed)
  | { readonly type: "changed"; readonly fields: readonly string[]; readonly effect: Effect }
  /** It is restarted with this one, on which it depends. */
  | { readonly type: "follows"; readonly id: string }
  /** Names of watched files that have changed; of very many only the first. */
  | { readonly type: "watch"; readonly files: readonly string[]; readonly count: number; readonly effect: FileEffect }
  /** No plan has it any more. */
  | { readonly type: "removed"; readonly isIdle: boolean };
