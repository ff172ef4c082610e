/** What each way of asking has in common. */

/** `problem`: undefined says yes. Afterwards the returned function is called, once, to let go of everything. */
export type Attempt<Of> = (probe: Of, over: (problem: string | undefined) => void) => (isAnswered: boolean) => void;
