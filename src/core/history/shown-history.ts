/** Entries of the history as API and commands show them, and which one a number or a name means. */
import { ProcmanError } from "../base/errors.ts";
import { HISTORY_NAMES, type HistoryEntry } from "../contract/history-record.ts";
import { machineMark } from "../os/host-jitter.ts";
import type { KeptHistory, NumberedEntry, StoredEntry } from "./history-store.ts";

const NUMBER = /^[1-9]\d{0,14}$/;

/** Newest first. */
export function shownHistory(store: KeptHistory, limit?: number): readonly HistoryEntry[] {
  const active = activeIn(store)?.number;
  return store.list(limit).map((found) => shownEntry(found, found.number === active));
}

export function shownEntry(found: NumberedEntry, isActive: boolean): HistoryEntry {
  const { number } = found;
  if (!("entry" in found)) {
    const { problem, time } = found;
    return { number, time, result: "damaged", problem, why: "", configFile: "", version: "", host: "" };
  }
  const { files, format: _format, machine: _machine, ...entry } = found.entry;
  return {
    number,
    ...entry,
    configFile: files[0]?.file ?? "",
    ...(isActive && { active: true }),
    ...(isForeign(found.entry) && { isForeign: true }),
  };
}

/** Whether it was applied on another machine; false where machines have no id. */
function isForeign({ machine }: StoredEntry): boolean {
  const own = machineMark();
  return machine !== undefined && own !== undefined && machine !== own;
}

export type SoundEntry = { readonly number: number; readonly entry: StoredEntry };

/** The last that was applied; undefined: the history has none. */
export function activeIn(store: KeptHistory): SoundEntry | undefined {
  return appliedIn(store).next().value;
}

/** Newest first; read one after another. */
function* appliedIn(store: KeptHistory): Generator<SoundEntry, undefined> {
  for (const number of store.numbers) {
    const found = store.read(number);
    if (found !== undefined && "entry" in found && found.entry.result === "applied") yield found;
  }
}

/** That of the last deployment; undefined: the history has none. */
export function releaseIn(store: KeptHistory): string | undefined {
  for (const { entry } of appliedIn(store)) if (entry.release !== undefined) return entry.release;
  return undefined;
}

export function isEntryName(name: string): boolean {
  return NUMBER.test(name) || HISTORY_NAMES.some((each) => each === name);
}

export function isSameConfiguration(
  one: Pick<StoredEntry, "files" | "profile">,
  other: Pick<StoredEntry, "files" | "profile">,
): boolean {
  return (
    one.profile === other.profile &&
    one.files.length === other.files.length &&
    one.files.every(({ file, hash }, index) => other.files[index]?.file === file && other.files[index]?.hash === hash)
  );
}

/**
 * The entry of a number, `active`, or `previous`: the last applied one that differs from the active one.
 *
 * @throws {ProcmanError} `history-unknown`, `history-damaged`
 */
export function entryNamed(name: string, store: KeptHistory): SoundEntry {
  if (name === "active") return activeIn(store) ?? notFound("the configuration in force", store);
  if (name === "previous") {
    const applied = appliedIn(store);
    const active = applied.next().value;
    for (const each of applied) if (active && !isSameConfiguration(each.entry, active.entry)) return each;
    return notFound("a configuration before the present one", store);
  }
  if (!NUMBER.test(name))
    throw new ProcmanError(
      "history-unknown",
      `Cannot find ${JSON.stringify(name.slice(0, 40))} in the history: allowed: a number, ${HISTORY_NAMES.join(", ")}`,
    );
  const found = store.read(Number(name)) ?? notFound(`entry ${name}`, store);
  if ("entry" in found) return found;
  throw new ProcmanError("history-damaged", `Cannot read entry ${name} of the history: ${found.problem}`);
}

function notFound(what: string, { numbers }: KeptHistory): never {
  const [newest] = numbers;
  const oldest = numbers.at(-1);
  const known =
    newest === undefined
      ? "it is empty"
      : newest === oldest
        ? `it has only ${newest}`
        : `it has ${oldest} to ${newest}`;
  throw new ProcmanError("history-unknown", `Cannot find ${what} in the history: ${known}`);
}
