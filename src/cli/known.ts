/** The names that there are: of what runs, and of what a configuration file has. For completion, so silent whatever is wrong. */
import { isObject } from "../base/shape.ts";
import { type Document, parseDocument } from "../config/document.ts";
import { locate } from "../config/locate.ts";
import { profileNames } from "../config/profile.ts";
import { read } from "../config/source.ts";
import { holderOf } from "../os/lock.ts";
import { connectTo } from "../remote/connect.ts";

export type Candidate = { readonly value: string; readonly text?: string };

type Known = Candidate & { readonly isCluster: boolean };

/** Nobody waits longer for Tab. Milliseconds. */
const PATIENCE_MS = 1_000;

/** Of the running procman; of the file, when none runs. */
export async function ids(config: string | undefined): Promise<readonly Candidate[]> {
  const found = await known(config);
  return found.length === 0 ? [] : [...found, { value: "all", text: "all processes" }];
}

export async function clusters(config: string | undefined): Promise<readonly Candidate[]> {
  return (await known(config)).filter(({ isCluster }) => isCluster);
}

async function known(config: string | undefined): Promise<readonly Known[]> {
  const timer = setTimeout(() => process.exit(), PATIENCE_MS);
  try {
    const location = locate(config, process.cwd());
    return holderOf(location.stateDir) === undefined ? await configured(config) : await running(location);
  } catch {
    return [];
  } finally {
    clearTimeout(timer);
  }
}

async function running(location: Parameters<typeof connectTo>[0]): Promise<readonly Known[]> {
  const records = await (await connectTo(location)).processes();
  return records
    .flatMap((record) => [record, ...(record.instances ?? [])])
    .map(({ id, status, type }) => ({ value: id, text: status, isCluster: type === "cluster" }));
}

async function configured(config: string | undefined): Promise<readonly Known[]> {
  const { load } = await import("../config/load.ts");
  const { processes } = load(config, process.cwd());
  const clusters = new Set(processes.flatMap(({ cluster }) => cluster?.id ?? []));
  return [...[...clusters].map((id) => ({ value: id, isCluster: true })), ...processes.map(({ id }) => ({ value: id, isCluster: false }))];
}

/** A cluster is one. The file may have faults: removing a process can be the repair. */
export function idsInFile(config: string | undefined): readonly Candidate[] {
  const data = documentOf(config)?.data;
  const processes = isObject(data) && Array.isArray(data.processes) ? data.processes : [];
  return processes.flatMap((each: unknown) => (isObject(each) && typeof each.id === "string" ? [{ value: each.id }] : []));
}

export function profilesInFile(config: string | undefined): readonly Candidate[] {
  const document = documentOf(config);
  return document === undefined ? [] : profileNames(document).map((value) => ({ value }));
}

function documentOf(config: string | undefined): Document | undefined {
  try {
    return parseDocument(read(config, process.cwd()).text);
  } catch {
    // There is none, so there are no names.
    return undefined;
  }
}
