/** `{id}` and its kind in file names: one pattern for many processes. */
import { suggest } from "../base/suggest.ts";

export type Names = {
  /** Name of the configuration. */
  readonly name: string;
  /** Process or instance id. */
  readonly id: string;
  /** Process id, without the number of an instance. */
  readonly process: string;
  /** Number of the instance from 1; empty for a process without cluster. */
  readonly instance: string;
};

const PLACEHOLDERS = ["name", "id", "process", "instance"] as const satisfies readonly (keyof Names)[];

const PLACEHOLDER = /\{([^{}]*)\}/g;

/** The pattern with all names filled in; unknown ones (refused by the checks before) stay. */
export function fill(pattern: string, names: Names): string {
  return pattern.replace(PLACEHOLDER, (written, key: string) => (isKnown(key) ? names[key] : written));
}

/** Whether the instances of a cluster get names of their own from it. */
export function tellsInstancesApart(pattern: string): boolean {
  return pattern.includes("{id}") || pattern.includes("{instance}");
}

/** A sentence about the first unknown placeholder; undefined when all are known. */
export function unknownPlaceholder(pattern: string): string | undefined {
  const unknown = [...pattern.matchAll(PLACEHOLDER)].find(([, key = ""]) => !isKnown(key));
  if (unknown === undefined) return undefined;
  const near = suggest(unknown[1] ?? "", PLACEHOLDERS);
  const known = PLACEHOLDERS.map((key) => `{${key}}`).join(", ");
  return `Found the unknown placeholder ${unknown[0]}; allowed: ${known}.${near === undefined ? "" : ` Did you mean {${near}}?`}`;
}

function isKnown(key: string): key is keyof Names {
  return (PLACEHOLDERS as readonly string[]).includes(key);
}
