/** One probe of a process: it succeeds, fails, or times out. */
import type { Probe } from "../contract/probe-spec.ts";
import { askCommand, type ExecContext } from "./exec-probe.ts";
import { askHttp, askPort } from "./socket-probe.ts";

export type ProbeLimits = { readonly timeoutMs: number; readonly context: ExecContext };

/** Calls `done` once, but never after the returned function was called. */
export function ask(
  probe: Probe,
  { timeoutMs, context }: ProbeLimits,
  done: (problem: string | undefined) => void,
): () => void {
  let isOver = false;
  let letGo: ((isAnswered: boolean) => void) | undefined;
  const end = (isAnswered: boolean): boolean => {
    if (isOver) return false;
    isOver = true;
    clearTimeout(timer);
    letGo?.(isAnswered);
    return true;
  };
  const timer = setTimeout(() => end(false) && done(`has not answered within ${timeoutMs / 1_000} s`), timeoutMs);
  letGo = begin(probe, context, (problem) => void (end(true) && done(problem)));
  return () => void end(false);
}

function begin(
  probe: Probe,
  context: ExecContext,
  done: (problem: string | undefined) => void,
): (isAnswered: boolean) => void {
  switch (probe.kind) {
    case "port":
      return askPort(probe, done);
    case "http":
      return askHttp(probe, done);
    case "exec":
      return askCommand(context)(probe, done);
    default:
      return probe satisfies never;
  }
}
