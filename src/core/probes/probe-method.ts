/** The interface of all probe methods. */

/** Calls `over` with the problem, or undefined for success. The returned function is called once at the end, to free resources. */
export type ProbeMethod<Of> = (probe: Of, done: (problem: string | undefined) => void) => (isAnswered: boolean) => void;
