/** A service of systemd, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";

/** A unit, its directives, and what is made of them. */
export type SystemdUnit = {
  readonly draft: ProcessDraft;
  readonly configuration: ConfigurationDraft;
  /** The last value of a directive of `[Service]`, with its specifiers replaced; it counts as used. */
  readonly one: (directive: string) => string | undefined;
  /** All values. */
  readonly all: (directive: string) => readonly string[];
  readonly folder: string;
};
