/** The least or the greatest need of the last seconds. */

export type LoadWindow = {
  /** Start of an uninterrupted series of samples. Monotonic milliseconds. */
  readonly since: number;
  /** Only those that may still become the extreme: the present one is the first. */
  readonly entries: readonly { readonly at: number; readonly need: number }[];
};

export type Extreme = "least" | "greatest";

export function emptyWindow(since: number): LoadWindow {
  return { since, entries: [] };
}

/** The window with this need, without what is older than `lengthMs`. */
export function withNeed(
  { since, entries }: LoadWindow,
  { at, need }: { readonly at: number; readonly need: number },
  { extreme, lengthMs }: { readonly extreme: Extreme; readonly lengthMs: number },
): LoadWindow {
  const isBeyond = (known: number): boolean => (extreme === "least" ? known < need : known > need);
  const kept = entries.filter((entry) => entry.at >= at - lengthMs && isBeyond(entry.need));
  return { since, entries: [...kept, { at, need }] };
}

/** Its extreme; undefined: it is not full yet. */
export function extremeOf({ since, entries }: LoadWindow, at: number, lengthMs: number): number | undefined {
  return at - since < lengthMs ? undefined : entries[0]?.need;
}
