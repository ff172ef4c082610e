/** How long what nobody waits for may wait for others: a process that has just been started has its beginning to itself. Milliseconds. */
export const LATER_MS = 3;
