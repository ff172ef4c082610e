/** One probe of a process: it succeeds, fails, or times out. */
import type { Probe } from "../contract/probe-spec.ts";
import { askCommand, type ExecContext } from "./exec-probe.ts";
import { askHttp, askPort } from "./socket-probe.ts";

export type ProbeLimits = { readonly timeoutMs: number; readonly scene: ExecContext };

/** Calls `done` once, but never after the returned function was called. */
export function ask(probe: Probe, { timeoutMs, scene }: ProbeLimits, done: (problem: string | undefined) => void): () => void {
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
  letGo = begin(probe, scene, (problem) => void (end(true) && done(problem)));
  return () => void end(false);
}

function begin(probe: Probe, scene: ExecContext, over: (problem: string | undefined) => void): (isAnswered: boolean) => void {
  switch (probe.kind) {
    case "port":
      return askPort(probe, over);
    case "http":
      return askHttp(probe, over);
    case "exec":
      return askCommand(scene)(probe, over);
    default:
      return probe satisfies never;
  }
}
