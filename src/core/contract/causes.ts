/** The ends of runs: why, and what procman decided then, as data. `words.ts` makes every sentence from them. */
import { enumeration, integer, list, literal, openObject, optional, string } from "../base/schema.ts";

export type { DecisionRecord, EndRecord, RequestRecord, StatusCause } from "../../../generated/records.ts";

/** Why a run ended. */
export const CAUSES = [
  "exit",
  "signal",
  "out-of-memory",
  "unstartable",
  "timeout",
  "unready",
  "unhealthy",
  "memory",
  "terminate",
  "watch",
  "idle",
  "operator",
  "shutdown",
  "unknown",
] as const;

/** Why there is an incident: the end of a run, or a cluster that needs more instances and gets none. */
export const INCIDENT_CAUSES = [...CAUSES, "growth-refused"] as const;

/** Who or what asked for the end of a run. */
export const REQUEST = openObject(
  {
    kind: enumeration(["consumer", "configuration", "removed", "scaled", "dependency", "files", "shutdown"], {
      description:
        "`configuration`: it has changed. `removed`: the file no longer has the process. `scaled`: its cluster has fewer instances now.",
    }),
    by: optional(string({ description: "The consumer of the token." })),
    process: optional(string({ description: "Of `dependency`: the process that was started again." })),
    files: optional(list(string(), { description: "Of `files`: the changed ones, at most the first of many." })),
    count: optional(integer({ description: "Of `files`: their number." })),
    from: optional(integer({ description: "Of `scaled`: instances before." })),
    to: optional(
      integer({ description: "Of `scaled`: instances after. Of `removed`: those of its cluster in the file." }),
    ),
    reason: optional(
      string({
        description: "Of `shutdown`: why procman ended. Of `scaled`: why its load or a schedule asked for fewer.",
      }),
    ),
  },
  { description: "Who or what asked for the end." },
);

/** Without `code`, `signal` and `message` it is not known how the program ended. */
export const END = openObject(
  {
    kind: enumeration(CAUSES, { description: "Why it ended." }),
    code: optional(integer({ description: "Exit code." })),
    signal: optional(string({ description: "Signal that ended it." })),
    message: optional(string({ description: "Why it could not be started." })),
    unseen: optional(literal(true, { description: "procman was killed while it started the run." })),
    outOfMemory: optional(literal(true, { description: "The kernel killed a process of it for lack of memory." })),
    port: optional(
      openObject(
        {
          port: integer({ description: "The port." }),
          program: string({ description: "The program that has it." }),
          process: optional(string({ description: "Its process, if procman runs it." })),
          own: optional(integer({ description: "The port that the instance was given, if that is another one." })),
          chosen: optional(
            literal(true, { description: '`"port": "auto"`: a reload gives the process another port.' }),
          ),
        },
        { description: "A port that another program had." },
      ),
    ),
    core: optional(
      openObject(
        {
          file: optional(string({ description: "Path of the file." })),
          program: optional(string({ description: "The program to which the kernel passes core dumps." })),
          command: optional(string({ description: "The command that shows it." })),
        },
        { description: "Its core dump." },
      ),
    ),
    left: optional(integer({ description: "Processes of it that can't be ended." })),
    afterMs: optional(integer({ description: "Time from its start to its end." })),
    limitMs: optional(integer({ description: "Of `timeout` and `unready`: the time that it had." })),
    problem: optional(string({ description: "Of `unready`, `unhealthy` and `memory`: what was found last." })),
    request: optional(REQUEST),
  },
  { description: "How it ended; `reason` says it in words." },
);

export const DECISION = openObject(
  {
    kind: enumeration(["restart", "start", "wait", "stop", "none"], {
      description:
        "`restart`: by the policy. `start`: it was asked for. `wait`: it starts when its dependencies are up. `stop`: the next run had begun, and is stopped.",
    }),
    restart: optional(integer({ description: "Number of the restart." })),
    limit: optional(integer({ description: "Restarts that the policy allows." })),
    delayMs: optional(integer({ description: "Time until the restart; absent: at once." })),
    why: optional(
      enumeration(
        [
          "stopped",
          "asleep",
          "finished",
          "exhausted",
          "blocked",
          "permanent",
          "option",
          "policy",
          "failed",
          "instances",
        ],
        {
          description:
            "Of `none`. `asleep`: its next client starts it. `permanent`: another attempt would fail in the same way. `option`: of the command. `policy`: it has no restart policy. `instances`: it is unhealthy, and `process` is being restarted or, without that, no other instance is healthy.",
        },
      ),
    ),
    process: optional(string({ description: "With `instances`: the instance that procman restarts." })),
    option: optional(string({ description: "The option of `procman run` because of which it isn't restarted." })),
  },
  { description: "What follows; `decision` says it in words." },
);

export const STATUS_CAUSE = openObject(
  {
    waitsFor: optional(
      list(
        openObject({
          process: string({ description: "Id." }),
          condition: enumeration(["started", "ready", "reachable", "finished", "completed"]),
        }),
        { description: "While it waits: the dependencies that are not met yet." },
      ),
    ),
    skip: optional(
      openObject(
        {
          path: list(string(), {
            description: "The ids on the way from its dependency to the process that has failed permanently.",
          }),
          process: string({ description: "The process or instance that has failed." }),
          end: optional(END),
          next: optional(DECISION),
        },
        { description: "While it is skipped: because of what." },
      ),
    ),
    stop: optional(
      openObject(
        {
          kind: enumeration(
            ["operator", "terminate", "timeout", "watch", "idle", "unready", "unhealthy", "memory", "itself"],
            {
              description: "Why; `itself`: its program has ended, and what is left of it is being stopped.",
            },
          ),
          phase: enumeration(
            ["spawning", "waiting-dependents", "grace", "terminate", "kill", "cleanup", "cleanup-kill", "after-stop"],
            { description: "`spawning`: it was only being started. `grace`: it has time to finish by itself." },
          ),
          signal: optional(string({ description: "The signal that it was sent." })),
          again: optional(literal(true, { description: "It starts again afterwards." })),
          dependents: optional(list(string(), { description: "What must end before it." })),
        },
        { description: "While it is being stopped." },
      ),
    ),
    sleep: optional(
      openObject(
        {
          since: optional(string({ description: "Since when." })),
          on: optional(enumeration(["connect", "data"], { description: "What wakes it; absent: nothing." })),
          hostname: optional(string({ description: "Where." })),
          port: optional(integer({ description: "Where." })),
        },
        { description: "While it sleeps." },
      ),
    ),
    hook: optional(
      openObject(
        {
          name: enumeration(["beforeStart", "afterStop"]),
          ms: integer({ description: "How long it has run." }),
        },
        { description: "The hook that runs." },
      ),
    ),
    problem: optional(string({ description: "While it is not ready or not healthy: what was found last." })),
    logProblem: optional(string({ description: "Why its log files can't be written." })),
    connectionProblem: optional(string({ description: "Why it gets no connections." })),
    end: optional(END),
    next: optional(DECISION),
  },
  { description: "Why it is in this state, as data; `reason` says it in words." },
);
