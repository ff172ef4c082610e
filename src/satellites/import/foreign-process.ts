/** A process of process-compose, while that of procman is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";

export type ForeignProcess = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly folder: string;
  /** Text of the file with its variables. */
  readonly text: (value: string) => string;
};
