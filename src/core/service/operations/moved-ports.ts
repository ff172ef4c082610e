/** The ports that a reload moves from one process to another. */
import { ownPort } from "../../config/cluster-variables.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import type { PlannedChange, PlanRecord } from "../../contract/plan.ts";
import type { MovedPort } from "../spawn/port-handovers.ts";

const NUMBER = /(?<![\w.])\d{2,5}(?![\w.])/g;

/**
 * The ports that a process takes from another one which the reload ends.
 *
 * @param holdersOf the processes that have these ports now, by one look
 */
export function movedPorts(
  { processes }: PlanRecord,
  { before, now }: { readonly before: Config; readonly now: Config },
  holdersOf: (ports: ReadonlySet<number>) => ReadonlyMap<number, readonly string[]>,
): readonly MovedPort[] {
  const idsOf = (isWanted: (change: PlannedChange) => boolean): ReadonlySet<string> =>
    new Set(processes.filter(isWanted).map(({ process }) => process));
  const [starting, ending] = [idsOf(isStarted), idsOf(isEndedFirst)];
  const previous = new Map(before.processes.map((spec) => [spec.id, spec]));
  const wanted = now.processes.flatMap((spec) => {
    const known = numbersIn(previous.get(spec.id));
    const added = starting.has(spec.id) ? [...numbersIn(spec)].filter((port) => !known.has(port)) : [];
    return added.map((port) => ({ port, taker: spec.id }));
  });
  const holders = wanted.length === 0 ? new Map() : holdersOf(new Set(wanted.map(({ port }) => port)));
  return wanted.flatMap(({ port, taker }) => {
    const givers: readonly string[] = holders.get(port) ?? [];
    const isOwn = givers.includes(taker);
    return isOwn ? [] : givers.filter((giver) => ending.has(giver)).map((giver) => ({ port, giver, taker }));
  });
}

function isStarted({ action }: PlannedChange): boolean {
  return action === "start" || action === "restart";
}

/** One that is restarted later, after others, must not be waited for. */
function isEndedFirst({ action, rolling }: PlannedChange): boolean {
  return action === "stop" || (action === "restart" && !rolling);
}

/** What may be a port; whether a process has it, the system says. */
function numbersIn(spec: ProcessSpec | undefined): ReadonlySet<number> {
  if (spec === undefined) return new Set();
  const { command, env, share, ready, health } = spec;
  const texts = [command.kind === "shell" ? command.line : command.args.join(" "), ...Object.values(env)];
  const written = texts.flatMap((text) => (typeof text === "string" ? (text.match(NUMBER) ?? []) : []));
  const probed = [ready, health?.probe].map((probe) =>
    probe !== undefined && "port" in probe ? probe.port : undefined,
  );
  return new Set([...written.map(Number), ...[ownPort(spec), share?.port, ...probed].flatMap((port) => port ?? [])]);
}

/** The plan that says who starts after whom. */
export function withMovedPorts(plan: PlanRecord, moved: readonly MovedPort[]): PlanRecord {
  if (moved.length === 0) return plan;
  const processes = plan.processes.map((change) => {
    const own = moved.filter(({ taker }) => taker === change.process);
    const waits = own.map(({ port, giver }) => `; starts when "${giver}" has ended, which has port ${port}`);
    return own.length === 0 ? change : { ...change, reason: `${change.reason}${waits.join("")}` };
  });
  return { ...plan, processes };
}
