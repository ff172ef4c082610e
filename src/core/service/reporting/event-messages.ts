/** Log lines of what happens to a process beside the transitions of its slots, in one sentence each. */
import { hostTime } from "../../base/time-stamp.ts";
import type { RequestRecord } from "../../contract/causes.ts";
import { filesText, requestText } from "../../contract/words.ts";
import type { ChangeEffect } from "../../supervisor/definition.ts";
import type { ProcessEvent } from "../../supervisor/process-notice.ts";
import { info, type LogLine, warn } from "../log-line.ts";

/** `scaling`: why instances are being removed from a cluster now; undefined: because of the file. */
export function messageForEvent(event: ProcessEvent, removal: RequestRecord = { kind: "removed" }): LogLine {
  switch (event.type) {
    case "blocked":
      return info("blocked: no restart, no scheduled start until it is unblocked");
    case "unblocked":
      return info("unblocked");
    case "disabled":
      return info("disabled: from now on it starts only by request, even when procman is started again");
    case "enabled":
      return info("enabled");
    case "scheduled":
      return info(`starts by its schedule (${hostTime(event.planned)})`);
    case "terminated":
      return info(`is terminated by its schedule (${hostTime(event.planned)})`);
    case "skipped":
      return warn(`not started by its schedule (${hostTime(event.planned)}): ${event.reason}`);
    case "missed":
      return missedMessage(event);
    case "changed":
      return changeMessage(fieldsText(event.fields), event.effect);
    case "woken":
      return info(event.dependent === undefined ? "woken by a client" : `woken: ${event.dependent} depends on it`);
    case "follows":
      return info(`restarted with ${event.id}, on which it depends`);
    case "watch":
      return fileChangeMessage(event);
    case "removed":
      return info(`${event.isIdle ? "removed" : "being removed"}: ${requestText(removal)}`);
    default:
      return event satisfies never;
  }
}

function missedMessage(event: ProcessEvent & { readonly type: "missed" }): LogLine {
  const times = timesOf(event);
  if (event.isMadeUpFor)
    return warn(`its schedule was missed ${times} while procman was not running; it runs once now`);
  return warn(
    `not ${event.kind === "start" ? "started" : "terminated"} by its schedule ${times} while procman was not running`,
  );
}

function timesOf({ first, last, times, isCapped }: ProcessEvent & { readonly type: "missed" }): string {
  if (times === 1) return `(${hostTime(first)})`;
  return isCapped
    ? `more than ${times - 1} times (since ${hostTime(first)})`
    : `${times} times (${hostTime(first)} to ${hostTime(last)})`;
}

function changeMessage(what: string, effect: ChangeEffect): LogLine {
  switch (effect) {
    case "restarts":
      return info(`restarted: ${what}`);
    case "starts":
      return info(`starts: ${what}`);
    case "blocked":
      return warn(`${what}; not restarted: it is blocked`);
    case "runs on":
      return info(`${what}; it keeps running`);
    case "none":
      return info(what);
    default:
      return effect satisfies never;
  }
}

function fileChangeMessage({ effect, ...change }: ProcessEvent & { readonly type: "watch" }): LogLine {
  const what = filesText(change);
  return effect === "blocked" ? warn(`${what}; not restarted: it is blocked`) : info(`${effect}: ${what}`);
}

/** Why the present run is ended; undefined: the notice ends none. */
export function requestOf(
  event: ProcessEvent,
  removal: RequestRecord = { kind: "removed" },
): RequestRecord | undefined {
  if (event.type === "removed") return removal;
  if (event.type === "follows") return { kind: "dependency", process: event.id };
  if (event.type === "changed" && event.effect === "restarts") return { kind: "configuration" };
  if (event.type !== "watch" || event.effect !== "restarts") return undefined;
  return { kind: "files", files: event.files, count: event.count };
}

/** "its cwd and env have changed" */
export function fieldsText(fields: readonly string[]): string {
  const [last = "", ...others] = fields.toReversed();
  return others.length === 0
    ? `its ${last} has changed`
    : `its ${others.toReversed().join(", ")} and ${last} have changed`;
}
