/** A part of the service that goes along with supervision. All of them stand in one list, in `service.ts`. */
export type Subsystem = {
  /** The notes of an earlier service are known; before the first `apply`. */
  readonly resume?: () => void;
  /** The configuration is another one. */
  readonly apply?: () => void;
  /** Everything is about to be stopped. */
  readonly end?: () => void;
  /** All processes are stopped. */
  readonly stopped?: () => Promise<void> | void;
  /** Another service goes on; what runs stays as it is. */
  readonly retire?: () => Promise<void> | void;
};
