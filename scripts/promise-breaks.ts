/** Compares what is promised with what an earlier release has promised: `test/fixtures/promises.json`. */
import { readFileSync } from "node:fs";
import type { Promises } from "./promise-tables.ts";

/** `promises`: by kind and name, the facts in one text. */
export type RecordedPromises = {
  readonly version: string;
  readonly promises: Readonly<Record<string, Readonly<Record<string, string>>>>;
};

export const RECORD: URL = new URL("../test/fixtures/promises.json", import.meta.url);

const SEPARATOR = "; ";

/** Kinds that get no new names either. */
const CLOSED: readonly string[] = ["exit codes"];

export function recordedPromises(): RecordedPromises {
  return JSON.parse(readFileSync(RECORD, "utf8")) as RecordedPromises;
}

export function recordOf(promises: Promises, version: string): RecordedPromises {
  const kinds = Object.entries(promises).map(([kind, names]) => [
    kind,
    Object.fromEntries(Object.entries(names).map(([name, { facts }]) => [name, facts.join(SEPARATOR)])),
  ]);
  return { version, promises: Object.fromEntries(kinds) };
}

/** One line for each break. Additions are none, except of something that must be given. */
export function breaksOf({ promises: recorded }: RecordedPromises, promises: Promises): readonly string[] {
  return Object.entries(recorded).flatMap(([kind, names]) => {
    const present = promises[kind] ?? {};
    const lost = Object.entries(names).flatMap(([name, facts]) => lossOf(name, facts, present[name]?.facts));
    const demanded = Object.entries(present).flatMap(([name, { mustBeGiven }]) =>
      mustBeGiven && names[name] === undefined && names[parentOf(name)] !== undefined
        ? [`${name} must be given, and is new`]
        : [],
    );
    const added = CLOSED.includes(kind) ? Object.keys(present).filter((name) => names[name] === undefined) : [];
    return [...lost, ...demanded, ...added.map((name) => `${name} is new, and none may be`)].map(
      (line) => `${kind}: ${line}`,
    );
  });
}

function lossOf(name: string, recorded: string, facts: readonly string[] | undefined): readonly string[] {
  if (facts === undefined) return [`${name} was removed`];
  // A fact may have the separator in itself.
  const [former, present] = [recorded, facts.join(SEPARATOR)].map(factsIn) as [string[], string[]];
  const lost = former.filter((fact) => !present.includes(fact));
  const added = present.filter((fact) => !former.includes(fact));
  const now = added.length === 0 ? "and no longer is" : `and now "${added.join(SEPARATOR)}"`;
  return lost.length === 0 ? [] : [`${name} was "${lost.join(SEPARATOR)}", ${now}`];
}

function factsIn(text: string): string[] {
  return text === "" ? [] : text.split(SEPARATOR);
}

/** Of `web.port` the object `web`, of `run --config` the command, of `start(2)` the method. */
function parentOf(name: string): string {
  return name.replace(/(?:\.[^.]+|\(\d+\)| argument \d+| \S+)$/, "");
}
