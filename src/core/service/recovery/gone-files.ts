/** A file of `include` that is gone stops no process by itself: only a reload does. */
import { existsSync } from "node:fs";
import type { Config } from "../../config/spec.ts";
import { processOf } from "../spec-registry.ts";
import { readConfigSnapshot } from "./config-snapshot.ts";
import type { KeeperSnapshot } from "./reconcile.ts";

/** The configuration of the service before, while processes run that only a file has which is gone; else `found`, that of the files. */
export function withGoneFiles(
  found: Config,
  { notes, running }: Pick<KeeperSnapshot, "notes" | "running">,
): { readonly config: Config; readonly gone: readonly string[] } {
  const previous = readConfigSnapshot(notes[":config"])?.config;
  const gone = (previous?.included ?? []).filter((file) => !existsSync(file));
  if (previous === undefined || gone.length === 0) return { config: found, gone: [] };
  const present = new Set(found.processes.map(({ id }) => id));
  const isMissing = running.some(({ slot }) => !present.has(processOf(slot)));
  return isMissing ? { config: previous, gone } : { config: found, gone: [] };
}
