/** Logger settings of one process: its own, over the global ones, over the defaults. */
import { resolve } from "node:path";
import type { Rotation } from "../contract/logger-protocol.ts";
import { fill, type Names } from "./placeholders.ts";
import type { RawLogger, RawProcessLogger, RawRotation } from "./schema.ts";
import type { LogSpec } from "./spec.ts";
import { parseSize } from "./units.ts";

/** Unless the configuration says otherwise. */
export const INTERNAL_LOG_HOURS = 24;

const HOUR_MS = 3_600_000;

type Own = RawProcessLogger | undefined;

/** Settings for one instance; file names get their placeholders filled in and become absolute. */
export function logSpec(own: Own, global: RawLogger | undefined, place: { readonly names: Names; readonly folder: string }): LogSpec {
  const absolute = (pattern: string | undefined): string | undefined =>
    pattern === undefined ? undefined : resolve(place.folder, fill(pattern, place.names));
  const stdout = absolute(own?.stdout ?? global?.stdout);
  // A file of its own for standard output takes standard error along, whatever the global logger says.
  const stderr = absolute(own?.stderr ?? (own?.stdout === undefined ? global?.stderr : undefined));
  const rotation = rotationOf(own?.rotate, global?.rotate);
  return {
    console: own?.console ?? global?.console ?? false,
    decorateFiles: own?.decorateFiles ?? global?.decorateFiles ?? false,
    ...(stdout !== undefined && { stdout }),
    ...(stderr !== undefined && { stderr }),
    ...(rotation !== undefined && { rotation }),
    ...((global?.internalLogHours ?? INTERNAL_LOG_HOURS) > 0 && { stored: true as const }),
  };
}

/** Whether anybody wants the output at all. */
export function isCaptured({ console, stdout, stderr, stored }: LogSpec): boolean {
  return stored === true || console || stdout !== undefined || stderr !== undefined;
}

function rotationOf(own: RawRotation | undefined, global: RawRotation | undefined): Rotation | undefined {
  if ((own ?? global) === false) return undefined;
  const { size, hours, total, gzip } = { ...(global || {}), ...(own || {}) };
  return {
    sizeBytes: parseSize(size ?? "500MB"),
    ageMs: (hours ?? 0) * HOUR_MS,
    totalBytes: parseSize(total ?? "2GB"),
    gzip: gzip ?? true,
  };
}
