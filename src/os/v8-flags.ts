/**
 * Flags of V8 that procman's processes change once they run. As arguments of `node` they would make Node's own compiled code
 * useless, and the start 20 ms longer.
 */
import { setFlagsFromString } from "node:v8";

/** `atStart`: what V8 begins with. */
type Flag = { readonly name: string; readonly atStart: number; readonly changed: number };

/**
 * V8 gives short-lived objects 16 MB and more after a burst of work, and never takes that back. Procman's processes keep the 1 MB
 * that they begin with: the collections are more, but each takes next to nothing.
 */
const YOUNG_GENERATION: Flag = { name: "--semi-space-growth-factor", atStart: 2, changed: 1 };

/** So many times as often something has to be done before V8 optimises it. */
const LATER = 15;
/** Node 20 counts bytecode, later ones calls. By major version; of others it is not known what they begin with. */
const OPTIMISATION: Readonly<Record<string, Flag>> = {
  v20: late("--interrupt-budget", 67_584),
  v22: late("--invocation-count-for-turbofan", 3_000),
  v24: late("--invocation-count-for-turbofan", 10_000),
  v26: late("--invocation-count-for-turbofan", 16_000),
};

const KEY = Symbol.for("procman.v8-flags");

/** Those that were changed, by whatever bundle of this process. */
function changed(): Set<Flag> {
  const shared = globalThis as { [KEY]?: Set<Flag> };
  shared[KEY] ??= new Set();
  return shared[KEY];
}

/** Node's own modules that are loaded later have to be compiled, but for those that `os/builtin` loads. */
export function holdYoungGeneration(): void {
  change(YOUNG_GENERATION);
}

/**
 * By V8's measure whatever is done for each process every few seconds is soon worth being optimised, which takes more than it
 * ever saves: from now on only what is done far more often.
 */
export function optimiseLate(): void {
  const flag = OPTIMISATION[process.version.split(".")[0] ?? ""];
  if (flag !== undefined) change(flag);
}

export function hasOtherFlags(): boolean {
  return changed().size > 0;
}

/** Compiled code is only taken by a process that has the flags it was made with: those of the start. */
export function withFlagsOfStart<Result>(act: () => Result): Result {
  for (const { name, atStart } of changed()) setFlagsFromString(`${name}=${atStart}`);
  try {
    return act();
  } finally {
    for (const { name, changed: value } of changed()) setFlagsFromString(`${name}=${value}`);
  }
}

function late(name: string, atStart: number): Flag {
  return { name, atStart, changed: LATER * atStart };
}

function change(flag: Flag): void {
  changed().add(flag);
  setFlagsFromString(`${flag.name}=${flag.changed}`);
}
