/** `start`, `stop` and `restart`. */
import type { Client } from "../../../client/client.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import { boolean, list, object, optional, string } from "../../../core/base/schema.ts";
import type { ActOptions } from "../../../core/contract/control.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import {
  hasFinished,
  isAsleep,
  isDownByFailure,
  isSkipped,
  isStartingOrRunning,
  isStoppable,
  isUp,
} from "../../../core/contract/status-sets.ts";
import { isAway, lastLines, poll } from "../polling.ts";
import { READS, type Tool, type ToolAnswer, type ToolContext, tool } from "../tool.ts";
import { ID, membersOf, PROCESS, processLines, shownProcesses, timeoutSeconds } from "../tool-fields.ts";
import { fenced, harmless, UNTRUSTED } from "../untrusted.ts";

type AgentVerb = "start" | "stop" | "restart";

/** Many clients give up after a minute. */
const DEFAULT_SECONDS = 45;
/** How often an action is asked for that procman may not have read before it was killed. */
const ATTEMPTS = 3;

const OUTPUT = {
  reached: boolean({ description: "It is in the state that was asked for." }),
  problem: optional(string({ description: "Why not." })),
  lastLines: list(string(), { description: "Untrusted output of the program, if it has failed." }),
  processes: list(PROCESS),
};

const WHAT: Readonly<Record<AgentVerb, readonly [title: string, description: string]>> = {
  start: ["Start", "Starts a process, and waits until it is up: ready, or running for a moment, or finished."],
  stop: ["Stop", "Stops a process, and waits until it has exited."],
  restart: [
    "Restart",
    "Restarts a process (starts it, if it isn't running), and waits until it is up. Instances of a cluster are restarted one after another, so that it keeps serving.",
  ],
};

export const actTools: readonly Tool[] = (["start", "stop", "restart"] as const).map((verb) =>
  tool({
    name: verb,
    title: WHAT[verb][0],
    description: `${WHAT[verb][1]} Answers with the state reached and, if it failed, the last lines. ${UNTRUSTED}`,
    input: object({
      id: ID,
      timeoutSeconds: optional(timeoutSeconds(DEFAULT_SECONDS)),
      ...(verb === "start" && {
        withDependencies: optional(boolean({ description: "First start what it depends on, unless that runs." })),
      }),
      ...(verb === "restart" && {
        hard: optional(boolean({ description: "All instances of a cluster at once: it doesn't serve meanwhile." })),
      }),
    }),
    output: OUTPUT,
    annotations: {
      ...READS,
      readOnlyHint: false,
      destructiveHint: verb !== "start",
      idempotentHint: verb !== "restart",
    },
    needs: ["control"],
    call: (input, context) => act(verb, input as ActInput, context),
  }),
);

type ActInput = {
  readonly id: string;
  readonly timeoutSeconds?: number;
  readonly withDependencies?: boolean;
  readonly hard?: boolean;
};

async function act(verb: AgentVerb, input: ActInput, context: ToolContext): Promise<ToolAnswer> {
  const { id, timeoutSeconds: seconds = DEFAULT_SECONDS, withDependencies = false, hard = false } = input;
  const { connect, signal } = context;
  const since = Date.now();
  const before = await (await connect()).process(id);
  const options = {
    waitSeconds: seconds,
    signal,
    ...(withDependencies && { withDependencies }),
    ...(hard && { hard }),
  };
  const problem = await problemOf({ verb, id, before, options }, context);
  const client = await connect();
  const record = await client.process(id);
  const missed = problem ?? (verb !== "stop" && membersOf(record).some(isDownByFailure) ? reasonOf(record) : undefined);
  const failed = missed === undefined || verb === "stop" ? [] : await lastLines(client, record, since);
  return {
    data: {
      reached: missed === undefined,
      ...(missed !== undefined && { problem: harmless(missed) }),
      lastLines: failed.flatMap(({ lines }) => lines.map(harmless)),
      processes: shownProcesses(record),
    },
    text: [
      ...(missed === undefined ? [] : [harmless(missed)]),
      ...processLines(record),
      ...failed.map(({ process, lines }) => fenced(`last lines of ${process}`, lines)),
    ].join("\n"),
    next:
      missed === undefined
        ? nextAfter(verb, id)
        : `Call "why" for ${id}; if it is only slow, "wait" until it is ready.`,
    ...(missed !== undefined && { hasFailed: true }),
  };
}

function nextAfter(verb: AgentVerb, id: string): string {
  return verb === "stop"
    ? `"start" starts ${id} again.`
    : `Call "logs" for ${id} with since "last-start" to see what it writes.`;
}

function reasonOf(record: ProcessRecord): string {
  const failed = membersOf(record).filter(isDownByFailure);
  return failed.map(({ id, reason }) => `${id} ${reason}`).join("; ");
}

type AskedAction = {
  readonly verb: AgentVerb;
  readonly id: string;
  readonly before: ProcessRecord;
  readonly options: ActOptions;
};

/** Why the state wasn't reached. If a part of procman was killed meanwhile, it is asked for again what was not read. */
async function problemOf(action: AskedAction, context: ToolContext, attempt = 1): Promise<string | undefined> {
  const { verb, id, before, options } = action;
  const seconds = options.waitSeconds ?? 0;
  try {
    await (await context.connect()).act(id, verb, options);
    return undefined;
  } catch (error) {
    if (!isAway(error) || attempt === ATTEMPTS) return messageOf(error, action, context);
  }
  const settled = await poll((client) => outcomeOf(client, action, before), { ...context, seconds });
  if (settled === "unread") return problemOf(action, context, attempt + 1);
  if (settled === "failed") return reasonOf(await (await context.connect()).process(id));
  return settled === "reached" ? undefined : `${id} was not in this state after ${seconds} s`;
}

/** The message of an action that has failed. Starting what runs already is none. @throws what isn't about the process */
async function messageOf(
  error: unknown,
  { verb, id }: AskedAction,
  { connect }: ToolContext,
): Promise<string | undefined> {
  if (!(error instanceof ProcmanError)) throw error;
  if (["process-failed", "roll-failed", "wait-timeout"].includes(error.code)) return error.message;
  const isThere = verb === "start" && error.code === "process-running";
  if (isThere && membersOf(await (await connect()).process(id)).every(isStartingOrRunning)) return undefined;
  throw error;
}

/** After a part of procman was killed amid the action. `unread`: procman had not read it. */
async function outcomeOf(
  client: Client,
  { verb, id }: AskedAction,
  before: ProcessRecord,
): Promise<"reached" | "failed" | "unread" | undefined> {
  const members = membersOf(await client.process(id));
  const isIdle = members.every((member) => !isStoppable(member));
  if (verb === "stop") return isIdle ? "reached" : "unread";
  const runs = new Map(membersOf(before).map((member) => [member.id, member.run]));
  const hasBegun = members.some(({ id: member, run }) => run !== runs.get(member));
  if (!hasBegun && (isIdle || members.every(isUp))) return "unread";
  if (members.some((member) => isDownByFailure(member) || isSkipped(member))) return "failed";
  return members.every((member) => isUp(member) || hasFinished(member) || isAsleep(member)) ? "reached" : undefined;
}
