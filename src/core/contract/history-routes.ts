/** The routes of the history, part of the table in `routes.ts`. */
import { DIFF, HISTORY, type ParameterValues, ROLLBACK } from "./query.ts";
import type { Route } from "./route.ts";

const ENTRY_MEANING = "Number of an entry, `active` (in force), or `previous` (the one before it).";

export const HISTORY_ROUTES = {
  history: {
    method: "GET",
    path: "/history",
    scope: "read",
    summary: "The configurations that were applied, newest first",
    parameters: HISTORY,
    status: 200,
    output: { kind: "json", schema: "HistoryEntry", list: true },
    errors: [],
    answer: (control, { query }) => control.history((query as ParameterValues<typeof HISTORY>).limit),
  },
  entry: {
    method: "GET",
    path: "/history/{id}",
    idMeaning: ENTRY_MEANING,
    scope: "admin",
    summary: "A configuration that was applied, with its texts",
    parameters: {},
    status: 200,
    output: { kind: "json", schema: "HistoryDetail" },
    errors: [404],
    answer: (control, { id }) => control.historyEntry(id),
  },
  diff: {
    method: "GET",
    path: "/history/{id}/diff",
    idMeaning: ENTRY_MEANING,
    scope: "admin",
    summary: "How the texts of a configuration differ from those of another one, or of the files as they are now",
    parameters: DIFF,
    status: 200,
    output: { kind: "json", schema: "HistoryDiff" },
    errors: [404, 409],
    answer: (control, { id, query }) => control.diff(id, (query as ParameterValues<typeof DIFF>).to),
  },
  rollback: {
    method: "POST",
    path: "/rollback",
    scope: "admin",
    summary: "Put the texts of an earlier configuration back into its files, and apply it",
    description:
      "All or nothing: if the reload is refused, or an instance doesn't come up (409), the files are as before, too. The text that was replaced stays beside each file.",
    parameters: ROLLBACK,
    status: 200,
    output: { kind: "json", schema: "RollbackRecord" },
    errors: [404, 409, 504],
    answer: (control, { query, signal }) => {
      const { to, force = false, dryRun = false, wait } = query as ParameterValues<typeof ROLLBACK>;
      const waiting = wait === undefined ? {} : { waitSeconds: wait, signal };
      return control.rollback(to, { ...waiting, force, dryRun });
    },
  },
} as const satisfies Readonly<Record<string, Route>>;
