/** A program of supervisord, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";
import type { ForeignText } from "./foreign-text.ts";

export type SupervisordProgram = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  /** Where supervisord runs: its paths resolve from there. */
  readonly folder: string;
  readonly expand: (text: string) => ForeignText;
  /** A number; of `%(ENV_NAME)s` alone the reference `${NAME}`. */
  readonly numberOf: (field: string) => number | string | undefined;
};
