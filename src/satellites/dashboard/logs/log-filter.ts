/** What the log page shows, as the parameters of its address. Pure. */
import { existingTime } from "../../../core/base/time-stamp.ts";
import { SEVERITIES, type Severity } from "../../../core/contract/records.ts";
import type { ShownFilter } from "../model/log-pager.ts";
import { hashOf } from "../model/page-address.ts";

export type LogPageView = {
  readonly processes: readonly string[];
  readonly severity: Severity | undefined;
  /** The text whose hits are marked. */
  readonly search: string;
  /** Only lines with hits. */
  readonly isFiltered: boolean;
  /** Milliseconds since 1970; undefined: the end, followed. */
  readonly at: number | undefined;
};

export function viewIn(parameters: URLSearchParams): LogPageView {
  const at = existingTime(parameters.get("at") ?? "");
  return {
    processes: (parameters.get("process") ?? "").split(",").filter(Boolean),
    severity: SEVERITIES.find((each) => each === parameters.get("severity")),
    search: parameters.get("search") ?? "",
    isFiltered: parameters.get("only") === "hits",
    at: Number.isNaN(at) ? undefined : at,
  };
}

export function hashOfView({ processes, severity, search, isFiltered, at }: LogPageView): string {
  return hashOf("logs", {
    process: processes.join(","),
    severity,
    search,
    only: isFiltered ? "hits" : "",
    at: at === undefined ? "" : new Date(at).toISOString(),
  });
}

/** What the service filters by; hits are marked here. */
export function filterOf({ processes, severity, search, isFiltered }: LogPageView): ShownFilter {
  return {
    ...(processes.length === 0 ? {} : { processes }),
    ...(severity === undefined ? {} : { severity }),
    ...(isFiltered && search !== "" ? { search } : {}),
  };
}
