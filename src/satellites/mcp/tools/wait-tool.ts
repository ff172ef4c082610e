import type { Client } from "../../../client/client.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import { boolean, enumeration, list, object, optional, string } from "../../../core/base/schema.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import {
  hasFailed,
  hasFinished,
  isAsleep,
  isDownByFailure,
  isRunning,
  isSkipped,
  isUp,
} from "../../../core/contract/status-sets.ts";
import { lastLines, poll } from "../polling.ts";
import { READS, type ToolAnswer, tool } from "../tool.ts";
import { ID, membersOf, PROCESS, processLines, shownProcesses, timeoutSeconds } from "../tool-fields.ts";
import { cutTo, fenced, harmless, UNTRUSTED } from "../untrusted.ts";
import { lastStart } from "./logs-tool.ts";

const DEFAULT_SECONDS = 30;
const LINE_BYTES = 4_000;
/** As long as a start is waited for by default. Milliseconds. */
const STEADY_MS = 1_000;

export const waitTool = tool({
  name: "wait",
  title: "Wait for a process",
  description: `Waits until a process is ready, has written a line since its last start, or has exited. Says at once if that can't happen any more. ${UNTRUSTED}`,
  input: object({
    id: ID,
    until: enumeration(["ready", "line", "exit"]),
    line: optional(
      string({ minLength: 1, maxLength: 1_000, description: 'With "line": a part of it, ignoring case.' }),
    ),
    timeoutSeconds: optional(timeoutSeconds(DEFAULT_SECONDS)),
  }),
  output: {
    reached: boolean(),
    line: optional(string({ description: "Untrusted output of the program." })),
    lastLines: list(string(), { description: "Untrusted output of the program, if it has failed." }),
    processes: list(PROCESS),
  },
  annotations: READS,
  needs: ["read"],
  call: async ({ id, until, line, timeoutSeconds: seconds = DEFAULT_SECONDS }, { connect, signal }) => {
    if ((until === "line") !== (line !== undefined))
      throw new ProcmanError("input-invalid", 'Cannot wait: "line" is needed with "until": "line", and only there');
    const since = Date.now();
    const before = await (await connect()).process(id);
    const look = (client: Client): Promise<WaitVerdict | undefined> =>
      line === undefined ? verdictOf(client, { id, until, before }) : lineIn(client, id, line);
    const verdict = (await poll(look, { connect, seconds, signal })) ?? { reached: false, timedOut: true };
    return answerOf(await connect(), id, { ...verdict, since, until, seconds });
  },
});

type WaitVerdict = { readonly reached: boolean; readonly line?: string; readonly timedOut?: true };

type Awaited = { readonly id: string; readonly until: string; readonly before: ProcessRecord };

async function verdictOf(client: Client, { id, until, before }: Awaited): Promise<WaitVerdict | undefined> {
  const members = membersOf(await client.process(id));
  if (until === "ready") {
    if (members.every((member) => isSteady(member) || hasFinished(member) || isAsleep(member)))
      return { reached: true };
    return members.some((member) => hasFailed(member) || isSkipped(member)) ? { reached: false } : undefined;
  }
  const runs = new Map(membersOf(before).map((member) => [member.id, member]));
  const hasExited = (member: ProcessRecord): boolean => {
    const earlier = runs.get(member.id);
    return !isRunning(member) || earlier?.run !== member.run;
  };
  return members.every(hasExited) ? { reached: true } : undefined;
}

/** Without a check for readiness, it has run for a moment: what crashes at its start runs, too. */
function isSteady(record: ProcessRecord): boolean {
  const { ready, started = "" } = record;
  return isUp(record) && (ready === true || Date.now() - Date.parse(started) >= STEADY_MS);
}

async function lineIn(client: Client, id: string, search: string): Promise<WaitVerdict | undefined> {
  const from = await lastStart(client, [id]);
  const { entries } = await client.logs({
    processes: [id],
    search,
    from,
    categories: ["stdout", "stderr", "log"],
    limit: 1,
  });
  const [entry] = entries;
  if (entry !== undefined) return { reached: true, line: harmless(cutTo(entry.text, LINE_BYTES)) };
  const members = membersOf(await client.process(id));
  return members.every((member) => hasFailed(member) || isSkipped(member)) ? { reached: false } : undefined;
}

type WaitOutcome = WaitVerdict & { readonly since: number; readonly until: string; readonly seconds: number };

async function answerOf(client: Client, id: string, outcome: WaitOutcome): Promise<ToolAnswer> {
  const { reached, line, timedOut, since, until, seconds } = outcome;
  const record = await client.process(id);
  // A run that ended before counts, too: it is why the process isn't up.
  const failed = reached && until !== "exit" ? [] : await lastLines(client, record, isDown(record) ? 0 : since);
  const texts = failed.flatMap(({ lines }) => lines.map(harmless));
  const said = reached
    ? `${id}: ${until === "line" ? "the line was written" : until} `
    : timedOut
      ? `${id}: not within ${seconds} s`
      : `${id}: this can't happen any more`;
  return {
    data: { reached, ...(line !== undefined && { line }), lastLines: texts, processes: shownProcesses(record) },
    text: [
      said.trim(),
      ...processLines(record),
      ...(line === undefined ? [] : [fenced("the line", [line])]),
      ...failed.map(({ process, lines }) => fenced(`last lines of ${process}`, lines)),
    ].join("\n"),
    next: reached ? "Go on." : timedOut ? `Call "why" for ${id}, or wait longer.` : `Call "why" for ${id}.`,
    ...(!reached && { hasFailed: true }),
  };
}

function isDown(record: ProcessRecord): boolean {
  return membersOf(record).some((member) => isDownByFailure(member) || isSkipped(member));
}
