/** Where in a plugin something was thrown. */
import { fileURLToPath } from "node:url";

/** The first place that is no part of Node, nor of procman. */
export function locationOf({ stack = "" }: Error): string {
  const line = stack.split("\n").find((each) => /^\s+at .*\.[cm]?[jt]s:\d+:\d+\)?$/.test(each) && !/node:|plugin-thread/.test(each));
  const place = /\(?((?:file:\/\/)?\/[^()]*:\d+:\d+)\)?$/.exec(line ?? "")?.[1];
  if (place === undefined) return "";
  return ` (${place.startsWith("file://") ? fileURLToPath(place) : place})`;
}
