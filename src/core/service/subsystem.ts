/** A part of the service with these calls. `service.ts` has the list of all. */
export type Subsystem = {
  /** The notes of the previous service are loaded; before the first `apply`. */
  readonly resume?: () => void;
  /** Another configuration was applied. */
  readonly apply?: () => void;
  /** The shutdown begins. */
  readonly end?: () => void;
  /** All processes are stopped. */
  readonly stopped?: () => Promise<void> | void;
  /** Another service takes over; processes keep running. */
  readonly retire?: () => Promise<void> | void;
};
