/** A process of process-compose, while that of procman is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { ForeignFields } from "./foreign-fields.ts";

export type ForeignProcess = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly folder: string;
  /** Text of the file with its templates. */
  readonly text: (value: string) => string;
  /** A line for a shell: `$$` is a dollar sign. */
  readonly shellText: (value: string) => string;
  /** The file has no variables: dollar signs are plain. */
  readonly isPlain: boolean;
  /** Ids by the names of processes, and of their replicas. */
  readonly ids: ReadonlyMap<string, string>;
};
