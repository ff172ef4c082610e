/** An app of pm2, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";

export type Pm2App = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  /** Folder from which its paths resolve. */
  readonly cwd: string;
  readonly script: string;
  readonly isNode: boolean;
};
