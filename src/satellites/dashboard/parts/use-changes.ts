/** The configurations that were applied; asked for once on a page, and after each further one. */
import { useEffect, useState } from "preact/hooks";
import type { HistoryEntry } from "../../../core/contract/history-record.ts";
import { keptChanges } from "../../../core/contract/why.ts";
import { useApp, useObserved } from "./app-context.ts";

/** Newest first; `problem`: why they can't be shown. */
type Changes = { readonly entries: readonly HistoryEntry[]; readonly problem?: string };

export function useChanges(): Changes {
  const { model } = useApp();
  const latest = useObserved(model.applied);
  const [changes, setChanges] = useState<Changes>({ entries: [] });
  useEffect(() => {
    let isOver = false;
    void keptChanges(model.client).then(
      (entries) => isOver || setChanges({ entries }),
      (error: Error) => isOver || setChanges({ entries: [], problem: error.message }),
    );
    return () => {
      isOver = true;
    };
    // `latest`: there is another one.
  }, [model, latest]);
  return changes;
}
