/** Finds where in a plugin an error was thrown. */
import { fileURLToPath } from "node:url";

/** ` (FILE:LINE:COLUMN)` of the first stack line outside of Node and procman; "" if there is none. */
export function locationOf({ stack = "" }: Error): string {
  const line = stack
    .split("\n")
    .find((each) => /^\s+at .*\.[cm]?[jt]s:\d+:\d+\)?$/.test(each) && !/node:|plugin-thread/.test(each));
  // `at NAME (PLACE)`, or `at PLACE`.
  const place = line?.slice(line.lastIndexOf("(") + 1).replace(/\)$/, "");
  const location = /^(?:\s+at (?:async )?)?((?:file:\/\/)?\/.*:\d+:\d+)$/.exec(place ?? "")?.[1];
  if (location === undefined) return "";
  return ` (${location.startsWith("file://") ? fileURLToPath(location) : location})`;
}
