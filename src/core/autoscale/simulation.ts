/** A cluster under a load that changes: the controller, and a model of instances that take time to start. */
import { NO_SAMPLES, type ScalePolicy, scaleStep } from "./scale-controller.ts";

export type LoadCurve = {
  readonly name: string;
  readonly seconds: number;
  /** Load of the whole cluster in this second, in the unit of the target. */
  readonly at: (second: number) => number;
};

export type SimulatedCluster = {
  readonly policy: ScalePolicy;
  /** Instances at the beginning. */
  readonly instances: number;
  /** From the start of an instance until it serves. */
  readonly startSeconds: number;
  /** Load that one instance can bear; what is more waits. */
  readonly capacity: number;
};

/** The example of the page, with a limit of connections. */
export const SIMULATED: SimulatedCluster = {
  policy: {
    min: 2,
    max: 8,
    targets: [
      { name: "connections", limit: 40 },
      { name: "waiting", limit: 1, capacity: 60 },
    ],
    upAfterMs: 10_000,
    downAfterMs: 300_000,
  },
  instances: 2,
  startSeconds: 5,
  capacity: 60,
};

export type SimulationResult = {
  readonly decisionsAnHour: number;
  /** Decisions against the direction of the one before. */
  readonly turnsAnHour: number;
  /** Shortest time from a decision to one in the other direction; undefined: there was no turn. Seconds. */
  readonly shortestTurn: number | undefined;
  /** Part of the load that had to wait. */
  readonly waited: number;
  /** Longest time in which some load waited. Seconds. */
  readonly longestWait: number;
  /** Instances over time, as part of those of somebody who knows the future. */
  readonly cost: number;
  /** The same with the maximum at all times. */
  readonly costOfMost: number;
  readonly most: number;
};

/** The load is shared evenly, and doesn't pile up: clients that wait are counted each second. */
export function simulate(
  curve: LoadCurve,
  { policy, instances, startSeconds, capacity }: SimulatedCluster,
): SimulationResult {
  let state = NO_SAMPLES;
  let readyAt: readonly number[] = Array.from({ length: instances }, () => 0);
  const decisions: { readonly second: number; readonly by: number }[] = [];
  const sum = { load: 0, waiting: 0, paid: 0, needed: 0 };
  let most = instances;
  let waitingSince: number | undefined;
  let longestWait = 0;
  for (let second = 0; second < curve.seconds; second++) {
    const load = curve.at(second);
    const serving = readyAt.filter((at) => at <= second).length;
    const taken = Math.min(load, serving * capacity);
    sum.load += load;
    sum.waiting += load - taken;
    sum.paid += readyAt.length;
    sum.needed += clairvoyant(curve, second, { policy, startSeconds });
    waitingSince = load > taken ? (waitingSince ?? second) : undefined;
    if (waitingSince !== undefined) longestWait = Math.max(longestWait, second + 1 - waitingSince);
    const loads = new Map(policy.targets.map(({ name, capacity: limit }) => [name, limit ? load - taken : taken]));
    const outcome = scaleStep(state, { at: second * 1_000, instances: readyAt.length, serving, loads }, policy);
    state = outcome.state;
    if (outcome.decision === undefined) continue;
    const { from, to } = outcome.decision;
    decisions.push({ second, by: to - from });
    readyAt = [...readyAt.slice(0, to), ...Array.from({ length: Math.max(0, to - from) }, () => second + startSeconds)];
    most = Math.max(most, to);
  }
  const turns = decisions.flatMap(({ second, by }, index) => {
    const last = decisions[index - 1];
    return last !== undefined && Math.sign(last.by) !== Math.sign(by) ? [second - last.second] : [];
  });
  const hours = curve.seconds / 3_600;
  return {
    decisionsAnHour: decisions.length / hours,
    turnsAnHour: turns.length / hours,
    shortestTurn: turns.length === 0 ? undefined : Math.min(...turns),
    waited: sum.load === 0 ? 0 : sum.waiting / sum.load,
    longestWait,
    cost: sum.paid / sum.needed,
    costOfMost: (policy.max * curve.seconds) / sum.needed,
    most,
  };
}

/** Instances that the load needs until an instance that is started now would serve. */
function clairvoyant(
  curve: LoadCurve,
  second: number,
  { policy, startSeconds }: Pick<SimulatedCluster, "policy" | "startSeconds">,
): number {
  const limit = Math.min(...policy.targets.filter(({ capacity }) => capacity === undefined).map((each) => each.limit));
  let most = policy.min;
  for (let ahead = 0; ahead <= startSeconds && second + ahead < curve.seconds; ahead++)
    most = Math.max(most, Math.ceil(curve.at(second + ahead) / limit));
  return Math.min(policy.max, most);
}
