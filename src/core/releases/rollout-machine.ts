/** How far a rollout is on this host, and which step may follow: a pure machine. The client says the steps. */
import type { RolloutPhase, RolloutStep } from "../contract/rollout-record.ts";

export type HostRolloutState = {
  readonly phase: RolloutPhase;
  readonly problem?: string;
  /** The host has something that can be taken back. */
  readonly changed?: true;
  readonly back?: true;
  readonly aborted?: true;
};

/** What the step leads to. `runs`: what is carried out then. */
export type NextRollout = { readonly state: HostRolloutState; readonly runs?: "forward" | "back" };

type Moves = Partial<Readonly<Record<RolloutPhase, RolloutPhase>>>;

const BACK_FROM = ["done", "failed"] as const;

const to = (next: RolloutPhase, ...from: readonly RolloutPhase[]): Moves =>
  Object.fromEntries([...from, next].map((phase) => [phase, next]));

/** From phase to phase; a step that was carried out already changes nothing. */
const MOVES: Readonly<Record<"drained" | "plain", Readonly<Record<RolloutStep["step"], Moves>>>> = {
  drained: moves(["draining"], ["back-draining"]),
  plain: moves(["waiting"], BACK_FROM),
};

function moves(
  run: readonly RolloutPhase[],
  backRun: readonly RolloutPhase[],
): Readonly<Record<RolloutStep["step"], Moves>> {
  return {
    drain: to("draining", "waiting"),
    undrain: to("undraining", "draining"),
    run: to("running", ...run),
    did: { running: "running" },
    ready: { readying: "done", undraining: "waiting", "back-readying": "taken-back" },
    fail: {
      draining: "readying",
      running: "running",
      readying: "failed",
      undraining: "failed",
      "back-readying": "back-failed",
    },
    "back-drain": to("back-draining", ...BACK_FROM),
    "back-run": to("back-running", ...backRun),
    retry: { failed: "waiting", "back-failed": "failed" },
    abort: {},
    release: {
      waiting: "waiting",
      done: "done",
      failed: "failed",
      "back-failed": "back-failed",
      "taken-back": "taken-back",
    },
  };
}

/** undefined: the step isn't possible now. The same step twice is as once. */
export function afterStep(
  state: HostRolloutState,
  { step, problem }: Pick<RolloutStep, "step" | "problem">,
  drains: boolean,
): NextRollout | undefined {
  if (step === "abort") return { state: { ...state, aborted: true } };
  const phase = MOVES[drains ? "drained" : "plain"][step][state.phase];
  if (phase === undefined || !isPossible(state, step, drains)) return undefined;
  if (state.phase === "running" && (step === "did" || step === "fail"))
    return { state: carriedOut(state, { ...(step === "fail" && { problem: problem ?? "" }), changed: false }, drains) };
  const next = { ...state, phase, ...joined(state.problem, problem) };
  if (phase === state.phase) return { state: next };
  switch (step) {
    case "run":
      return { state: next, runs: "forward" };
    case "back-run":
      return { state: { ...next, back: true }, runs: "back" };
    case "back-drain":
      return { state: { ...next, back: true } };
    case "ready":
      return { state: { ...next, phase: afterReady(state, phase) } };
    case "retry":
      return { state: phase === "waiting" ? withoutProblem(next) : next };
    default:
      return { state: next };
  }
}

function isPossible({ phase, changed, back }: HostRolloutState, step: RolloutStep["step"], drains: boolean): boolean {
  const leavesRest = phase === "done" || phase === "failed";
  if (step === "drain" || step === "back-drain") return drains && (step === "drain" || !leavesRest || changed === true);
  if (step === "back-run") return !leavesRest || changed === true;
  return step !== "retry" || phase !== "failed" || back !== true;
}

/** What was under way is over. */
export function carriedOut(
  state: HostRolloutState,
  { problem, changed }: { readonly problem?: string; readonly changed: boolean },
  drains: boolean,
): HostRolloutState {
  const isBack = state.phase === "back-running";
  const [ready, done, failed] = isBack
    ? (["back-readying", "taken-back", "back-failed"] as const)
    : (["readying", "done", "failed"] as const);
  const phase = drains ? ready : problem === undefined ? done : failed;
  // What was taken back can't be taken back once more.
  const { changed: had, ...rest } = state;
  const isChanged = isBack ? problem !== undefined : had === true || changed;
  return { ...rest, phase, ...(isChanged && { changed: true }), ...joined(state.problem, problem) };
}

/** The client has put the host back into its load balancer; what has failed before shows now. */
function afterReady({ phase, problem, changed }: HostRolloutState, next: RolloutPhase): RolloutPhase {
  if (phase === "readying" && problem !== undefined) return "failed";
  return phase === "back-readying" && changed === true ? "back-failed" : next;
}

function withoutProblem({ problem: _, ...state }: HostRolloutState): HostRolloutState {
  return state;
}

function joined(before: string | undefined, problem: string | undefined): { readonly problem?: string } {
  if (problem === undefined) return before === undefined ? {} : { problem: before };
  return { problem: before === undefined ? problem : `${before}; ${problem}` };
}
