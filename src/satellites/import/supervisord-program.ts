/** A program of supervisord, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";
import type { ForeignText } from "./foreign-text.ts";

export type SupervisordProgram = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly expand: (text: string) => ForeignText;
  readonly place: (text: string) => string;
};
