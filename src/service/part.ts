/** What an earlier service noted, by name. */
export type Notes = Readonly<Record<string, string>>;

/** What goes along with supervision and has a life of its own. */
export type Part = {
  /** What an earlier service noted for it; before the first `apply`. */
  readonly resume: (notes: Notes) => void;
  /** The configuration is another one. */
  readonly apply: () => void;
  /** Everything is about to be stopped. */
  readonly end: () => void;
  /** Another service goes on; what runs stays as it is. */
  readonly retire: () => void;
};
