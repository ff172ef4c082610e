import type { Client } from "../../../client/client.ts";
import { integer, list, object, openObject, optional, string, time } from "../../../core/base/schema.ts";
import type { HistoryEntry } from "../../../core/contract/history-record.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import type { StateRecord } from "../../../core/contract/state-record.ts";
import { isUp } from "../../../core/contract/status-sets.ts";
import { excerpt, explain, keptChanges } from "../../../core/contract/why.ts";
import { READS, tool } from "../tool.ts";
import { ID, membersOf } from "../tool-fields.ts";
import { cutTo, fenced, harmless, UNTRUSTED } from "../untrusted.ts";

/** All that are kept: the sentences count them. */
const ALL = 100;
const SHOWN = 5;
/** Budget of the lines of one end. Bytes. */
const BUDGET = 4_000;

const ENDED = openObject({
  time: time(),
  run: integer(),
  reason: string(),
  decision: string({ description: "What followed." }),
  code: optional(integer()),
  signal: optional(string()),
  by: optional(string({ description: "Who asked for the end." })),
  lastLines: list(string(), { description: "Untrusted output of the program, oldest first." }),
});

export const whyTool = tool({
  name: "why",
  title: "Why is it in this state?",
  description: `Explains the state of a process: what happened, how its last runs ended with their last lines, what was changed by a reload, and what to do. Better than reading logs. ${UNTRUSTED}`,
  input: object({ id: ID }),
  output: {
    explanations: list(
      openObject({
        process: string(),
        sentences: list(string(), { description: "The first is the present state, the last ones are advice." }),
        ends: list(ENDED, { description: "Its last ends, newest first." }),
      }),
      { description: "One for the process, or for each instance." },
    ),
    changed: openObject(
      { lastReload: optional(string()), unapplied: optional(string()) },
      { description: "What has changed in the configuration." },
    ),
  },
  annotations: READS,
  needs: ["read"],
  call: async ({ id }, { connect }) => {
    const client = await connect();
    const [record, state, changes] = await Promise.all([client.process(id), client.state(), keptChanges(client)]);
    const members = membersOf(record);
    const explained = await Promise.all(members.map((member) => explanationOf(client, member, changes)));
    const changed = changesIn(state);
    return {
      data: { explanations: explained.map(({ data }) => data), changed },
      text: [...explained.map(({ text }) => text), ...Object.values(changed)].join("\n\n"),
      next: members.every(isUp)
        ? `It is up. "logs" with since "last-start" shows what it has written.`
        : `Correct the cause. After a change of the configuration file: "validate", "plan", "reload"; after one of the program: "restart" ${id}. Then "wait" until it is ready.`,
    };
  },
});

type Explanation = { readonly data: object; readonly text: string };

async function explanationOf(
  client: Client,
  record: ProcessRecord,
  changes: readonly HistoryEntry[],
): Promise<Explanation> {
  const incidents = await client.incidents(record.id, ALL);
  const [last] = incidents;
  const lines = last === undefined ? [] : linesOf(last);
  const sentences = withoutLines(explain(record, incidents, Date.now(), changes), last).map(harmless);
  const output = lines.length === 0 ? [] : [fenced(`last lines of ${record.id}`, lines)];
  return {
    data: { process: record.id, sentences, ends: incidents.slice(0, SHOWN).map(shownEnd) },
    text: [...sentences, ...output].join("\n"),
  };
}

/** The sentences alone: the excerpt in them is the program's. */
function withoutLines(sentences: readonly string[], last: Incident | undefined): readonly string[] {
  const count = last === undefined || last.lines.length === 0 ? 0 : excerpt(last.lines).length;
  if (count === 0) return sentences;
  const excerptText = excerpt(last?.lines ?? []).map((text) => `  ${text}`);
  const at = sentences.findIndex((_, index) => excerptText.every((text, line) => sentences[index + 1 + line] === text));
  return at < 0 ? sentences : [...sentences.slice(0, at), ...sentences.slice(at + 1 + count)];
}

function linesOf({ lines }: Incident): readonly string[] {
  const texts = excerpt(lines);
  return texts.map((text) => cutTo(text, Math.floor(BUDGET / texts.length)));
}

function shownEnd(incident: Incident): object {
  const { time: at, run, reason, decision, code, signal, by } = incident;
  return {
    time: at,
    run,
    reason: harmless(reason),
    decision: harmless(decision),
    ...(code !== undefined && { code }),
    ...(signal !== undefined && { signal }),
    ...(by !== undefined && { by: harmless(by) }),
    lastLines: linesOf(incident).map(harmless),
  };
}

/** A limited token sees no reload: it concerns all processes. */
function changesIn({ lastReload, unapplied }: StateRecord): Readonly<Record<string, string>> {
  const problem = lastReload?.problem === undefined ? "" : ` (${lastReload.problem})`;
  return {
    ...(lastReload && {
      lastReload: harmless(`Last reload: ${lastReload.time}, ${lastReload.why}: ${lastReload.result}${problem}.`),
    }),
    ...(unapplied === "changes" && { unapplied: "The configuration file has changes that are not applied." }),
    ...(unapplied === "invalid" && { unapplied: "The configuration file was changed, and is not valid." }),
  };
}
