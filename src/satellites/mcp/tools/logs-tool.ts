import type { Client } from "../../../client/client.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import { enumeration, list, object, openObject, optional, string, time } from "../../../core/base/schema.ts";
import { CATEGORIES, type LogEntry, type LogPage, type LogQuery, SEVERITIES } from "../../../core/contract/records.ts";
import { READS, tool } from "../tool.ts";
import { DEFAULT_BUDGET, ID, MAX_BYTES, membersOf, timeIn } from "../tool-fields.ts";
import { cutTo, fenced, harmless, UNTRUSTED } from "../untrusted.ts";

/** Most entries of an answer; of short lines, the budget would take more. */
const ENTRIES = 1_000;
/** What a line takes beside its text. Bytes. */
const LINE_BYTES = 60;
const LAST_START = "last-start";

const ENTRY = openObject({
  time: time(),
  process: optional(string({ description: "Absent: procman's own." })),
  severity: string(),
  category: string(),
  text: string({ description: "Untrusted output of the program." }),
});

export const logsTool = tool({
  name: "logs",
  title: "Read the log",
  description: `The newest stored lines that match, oldest first: output of processes, their starts and ends, and who asked for what. "cursor" of an answer gives the lines before it. ${UNTRUSTED}`,
  input: object({
    ids: optional(list(ID, { maxItems: 100, description: "Default: all, and procman's own lines." })),
    severity: optional(enumeration(SEVERITIES, { description: "At least this severe." })),
    category: optional(enumeration(CATEGORIES, { description: "Only lines from this source." })),
    search: optional(string({ minLength: 1, maxLength: 1_000, description: "A part of the line, ignoring case." })),
    where: optional(
      list(string({ minLength: 1, maxLength: 1_000 }), {
        maxItems: 20,
        description: 'Conditions on fields of JSON lines, such as "status>=500" or "req.id=7"; all must hold.',
      }),
    ),
    regex: optional(
      list(string({ minLength: 1, maxLength: 1_000 }), {
        maxItems: 20,
        description: "Regular expressions in the syntax of RE2; each must match a part of the line.",
      }),
    ),
    since: optional(
      string({
        minLength: 1,
        maxLength: 100,
        description: `"10m", "14:30", ISO 8601, or "${LAST_START}": since the last start of the one process in ids.`,
      }),
    ),
    until: optional(string({ minLength: 1, maxLength: 100, description: "The same, exclusive." })),
    maxBytes: optional(MAX_BYTES),
    cursor: optional(string({ minLength: 1, maxLength: 1_000, description: "Of an answer with the same arguments." })),
  }),
  output: {
    entries: list(ENTRY, { description: "Oldest first." }),
    cursor: optional(string({ description: "For the lines before these; absent: there are none." })),
  },
  annotations: READS,
  needs: ["read"],
  call: async ({ maxBytes = DEFAULT_BUDGET, ...asked }, { connect }) => {
    const client = await connect();
    const { entries, next: cursor } = await pageWithin(client, await queryOf(client, asked), maxBytes);
    const shown = entries.toReversed().map((entry) => shownEntry(entry, maxBytes - LINE_BYTES));
    return {
      data: { entries: shown, ...(cursor !== undefined && { cursor }) },
      text: shown.length === 0 ? "No line matches." : fenced("log", shown.map(lineOf)),
      next: nextOf(shown.length, cursor, asked.since),
    };
  },
});

type Asked = {
  readonly ids?: readonly string[];
  readonly severity?: (typeof SEVERITIES)[number];
  readonly category?: (typeof CATEGORIES)[number];
  readonly search?: string;
  readonly where?: readonly string[];
  readonly regex?: readonly string[];
  readonly since?: string;
  readonly until?: string;
  readonly cursor?: string;
};

async function queryOf(client: Client, { ids = [], category, since, until, ...rest }: Asked): Promise<LogQuery> {
  const from = since === LAST_START ? await lastStart(client, ids) : timeIn("since", since);
  const to = timeIn("until", until);
  return {
    ...rest,
    ...(ids.length > 0 && { processes: ids }),
    ...(category !== undefined && { categories: [category] }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

/** Milliseconds since 1970; of a cluster that of the instance that has run the longest. */
export async function lastStart(client: Client, ids: readonly string[]): Promise<number> {
  const [id, ...others] = ids;
  if (id === undefined || others.length > 0)
    throw new ProcmanError(
      "input-invalid",
      `Cannot find the last start: "since": "${LAST_START}" needs one id in "ids"`,
    );
  const members = membersOf(await client.process(id));
  const runs = await Promise.all(members.map(async (member) => (await client.runs(member.id, { limit: 1 })).runs[0]));
  const starts = runs.flatMap((run) => (run?.started === undefined ? [] : [Date.parse(run.started)]));
  return starts.length === 0 ? 0 : Math.min(...starts);
}

/** The newest entries that fit, with the cursor for those before them. */
async function pageWithin(client: Client, query: LogQuery, maxBytes: number): Promise<LogPage> {
  for (let limit = Math.min(ENTRIES, Math.ceil(maxBytes / LINE_BYTES)); ; ) {
    const page = await client.logs({ ...query, limit });
    const count = fitting(page.entries, maxBytes);
    if (count >= page.entries.length) return page;
    // The cursor is that of the last entry of a page, so the page must end there.
    limit = count;
  }
}

function fitting(entries: readonly LogEntry[], maxBytes: number): number {
  let bytes = 0;
  const over = entries.findIndex(({ text }) => {
    bytes += Buffer.byteLength(text) + LINE_BYTES;
    return bytes > maxBytes;
  });
  return over < 0 ? entries.length : Math.max(1, over);
}

type ShownEntry = {
  readonly time: string;
  readonly process?: string;
  readonly severity: string;
  readonly category: string;
  readonly text: string;
};

function shownEntry({ time: at, process, severity, category, text }: LogEntry, maxBytes: number): ShownEntry {
  return {
    time: at,
    ...(process !== undefined && { process }),
    severity,
    category,
    text: harmless(cutTo(text, maxBytes)),
  };
}

function lineOf({ time: at, process = "procman", severity, text }: ShownEntry): string {
  return `${at} ${process} ${severity} ${text}`;
}

function nextOf(count: number, cursor: string | undefined, since: string | undefined): string {
  if (count === 0)
    return since === undefined ? "Search for less, or ask for other ids." : 'Leave out "since", or search for less.';
  return cursor === undefined
    ? "These are all."
    : 'Call it again with this cursor for the lines before these; a narrower "search", "severity" or "since" says more in less.';
}
