/** A service of compose, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";

export type ComposeService = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly folder: string;
  /** `deploy` */
  readonly deploy: ForeignFields;
  /** Folder of its Dockerfile, if it is built here. */
  readonly context: string | undefined;
};
