/** What a client can read: the schema of the configuration, the pages of the docs, and the latest ends of runs. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "../../client/client.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import { membersOf } from "./tool-fields.ts";
import { harmless, UNTRUSTED } from "./untrusted.ts";

const SCHEMA = "procman://schema";
const INCIDENTS = "procman://incidents";
const DOCS = "procman://docs/";
/** Folders of the docs that say how procman is used. */
const FOLDERS = ["guide", "reference"];
const SHOWN = 20;
const LINES = 10;

export type ResourceEntry = {
  readonly uri: string;
  readonly name: string;
  readonly title: string;
  readonly description?: string;
  readonly mimeType: string;
};

export type ResourceText = { readonly uri: string; readonly mimeType: string; readonly text: string };

export const TEMPLATES = [
  {
    uriTemplate: `${INCIDENTS}/{id}`,
    name: "incidents-of-process",
    title: "Ends of the runs of a process",
    description: `Newest first, with their last lines. ${UNTRUSTED}`,
    mimeType: "application/json",
  },
] as const;

/** `folder`: that of procman's package.json. A single executable has no pages. */
export function resourcesIn(folder: string): readonly ResourceEntry[] {
  return [
    {
      uri: SCHEMA,
      name: "schema",
      title: "JSON schema of the configuration file",
      description: "Every field with its meaning, unit, bounds and default.",
      mimeType: "application/schema+json",
    },
    {
      uri: INCIDENTS,
      name: "incidents",
      title: "Latest ends of runs",
      description: `Of all processes, newest first, with their last lines. ${UNTRUSTED}`,
      mimeType: "application/json",
    },
    ...pagesIn(folder).map((page) => ({
      uri: `${DOCS}${page}`,
      name: page,
      title: titleOf(readFileSync(join(folder, "docs", `${page}.md`), "utf8"), page),
      mimeType: "text/markdown",
    })),
  ];
}

/** undefined: there is no such resource. @throws {ProcmanError} of a resource that is read from procman */
export async function readResource(
  uri: string,
  folder: string,
  connect: () => Promise<Client>,
): Promise<ResourceText | undefined> {
  if (uri === SCHEMA)
    return { uri, mimeType: "application/schema+json", text: readFileSync(join(folder, "schema.json"), "utf8") };
  if (uri === INCIDENTS) return { uri, mimeType: "application/json", text: await incidentsOf(await connect()) };
  if (uri.startsWith(`${INCIDENTS}/`)) {
    const id = decoded(uri.slice(INCIDENTS.length + 1));
    return { uri, mimeType: "application/json", text: await incidentsOf(await connect(), id) };
  }
  // Only pages that are listed: the name is never a path.
  const page = pagesIn(folder).find((each) => `${DOCS}${each}` === uri);
  if (page === undefined) return undefined;
  return { uri, mimeType: "text/markdown", text: readFileSync(join(folder, "docs", `${page}.md`), "utf8") };
}

function pagesIn(folder: string): readonly string[] {
  return FOLDERS.flatMap((part) => {
    const path = join(folder, "docs", part);
    const names = existsSync(path) ? readdirSync(path) : [];
    return names.flatMap((name) => (name.endsWith(".md") ? [`${part}/${name.slice(0, -".md".length)}`] : [])).sort();
  });
}

/** Its first heading. */
function titleOf(text: string, page: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? page;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (cause) {
    throw new ProcmanError("input-invalid", `Cannot read ${JSON.stringify(text)}: it is not an id`, { cause });
  }
}

async function incidentsOf(client: Client, id?: string): Promise<string> {
  const records = id === undefined ? await client.processes() : [await client.process(id)];
  const all = await Promise.all(records.flatMap(membersOf).map((member) => client.incidents(member.id, SHOWN)));
  const newest = all
    .flat()
    .sort((one, other) => Date.parse(other.time) - Date.parse(one.time))
    .slice(0, SHOWN);
  const shown = newest.map(({ time, process, run, cause, reason, decision, code, signal, by, lines }) => ({
    time,
    process,
    run,
    cause,
    reason: harmless(reason),
    decision: harmless(decision),
    code,
    signal,
    by: by === undefined ? undefined : harmless(by),
    untrustedLastLines: lines.slice(-LINES).map(({ text }) => harmless(text)),
  }));
  return printableJson(shown, 2);
}
