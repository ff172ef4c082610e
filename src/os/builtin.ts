/** Parts of Node that a start does without for a while. */
import { hasOtherFlags, withFlagsOfStart } from "./v8-flags.ts";

type Parts = {
  readonly "node:cluster": typeof import("node:cluster");
  readonly "node:crypto": typeof import("node:crypto");
  readonly "node:http": typeof import("node:http");
};

const loaded = new Map<keyof Parts, Parts[keyof Parts]>();

/** Loads it with the compiled code that Node brings along, of which a changed flag makes nothing: 1.5 ms instead of 4 to 5. */
export function builtin<Name extends keyof Parts>(name: Name): Parts[Name] {
  const load = (): Parts[Name] => process.getBuiltinModule(name) as Parts[Name];
  const part = (loaded.get(name) as Parts[Name] | undefined) ?? (hasOtherFlags() ? withFlagsOfStart(load) : load());
  loaded.set(name, part);
  return part;
}
