/** A service of compose, while its process is made. */
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import type { Dockerfile } from "./dockerfile.ts";
import type { ForeignFields } from "./foreign-fields.ts";

/** What all services of a file have in common. */
export type ComposeProject = {
  /** In front of the names of containers and volumes. */
  readonly name: string;
  readonly folder: string;
  readonly configuration: ConfigurationDraft;
  /** Reads a file beside the compose file. */
  readonly readText: (file: string) => string;
  /** The variables of the file `.env`. */
  readonly dotenv: Readonly<Record<string, string>> | undefined;
  /** `volumes` of the top level. */
  readonly volumes: Readonly<Record<string, unknown>>;
  /** Services that others wait for until they are healthy. */
  readonly awaited: ReadonlySet<string>;
  /** Whether several services run in containers, which find each other by their names. */
  readonly hasNetwork: boolean;
};

export type ComposeService = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly project: ComposeProject;
  /** `deploy` */
  readonly deploy: ForeignFields;
  /** Folder of its Dockerfile, if it is built here. */
  readonly context: string | undefined;
  readonly dockerfile: Dockerfile;
  /** Whether the program stays in its image, in a container; otherwise it runs on this host. */
  readonly isContainer: boolean;
  /** Whether something of it is a variable, which compose reads from `.env`. */
  readonly hasVariables: boolean;
};
