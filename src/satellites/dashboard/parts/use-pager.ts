/** A window over the log, for as long as a component shows it. */
import { useEffect, useMemo } from "preact/hooks";
import { LogPager, type ShownFilter } from "../model/log-pager.ts";
import { watchVisibility } from "../model/visibility.ts";
import { useApp } from "./app-context.ts";

/** `at`: the time that it begins with, in milliseconds since 1970; undefined: the end, followed. */
export function usePager(filter: ShownFilter, at?: number): LogPager {
  const { model } = useApp();
  const key = JSON.stringify(filter);
  const pager = useMemo(() => new LogPager(model.client, filter), [model, key]);
  useEffect(() => {
    void (at === undefined ? pager.openEnd() : pager.openAt(at));
    const unwatch = watchVisibility({ rest: () => pager.rest(), wake: (hasRested) => hasRested && pager.wake() });
    return () => {
      unwatch();
      pager.stop();
    };
  }, [pager, at]);
  return pager;
}
