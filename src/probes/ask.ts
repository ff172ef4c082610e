/** One question to a process: it is answered, fails, or takes too long. */
import type { Probe } from "../contract/probe.ts";
import { askCommand, type Scene } from "./exec.ts";
import { askHttp, askPort } from "./socket.ts";

export type Limits = { readonly timeoutMs: number; readonly scene: Scene };

/** Calls `done` once; never after the function that it returns was called. */
export function ask(probe: Probe, { timeoutMs, scene }: Limits, done: (problem: string | undefined) => void): () => void {
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

function begin(probe: Probe, scene: Scene, over: (problem: string | undefined) => void): (isAnswered: boolean) => void {
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
