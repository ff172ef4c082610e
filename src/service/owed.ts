/** Whom a SIGTERM or a message is owed that waits for the balancer, as a later service reads it. */

/** `drain`: the message to a worker, in place of the signal. */
export type Owed = { readonly slot: string; readonly run: number; readonly drain?: boolean };

/** Notes may be lost, torn or strange. */
export function readOwed(note: string | undefined): readonly Owed[] {
  try {
    const owed: unknown = note === undefined ? [] : JSON.parse(note);
    return Array.isArray(owed) ? owed.filter((each): each is Owed => typeof each?.slot === "string" && typeof each?.run === "number") : [];
  } catch {
    return [];
  }
}
