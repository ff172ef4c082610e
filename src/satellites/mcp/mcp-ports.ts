/** What the command passes in: which procman is meant, and how its configuration file is edited. */
import type { ApiPlace } from "../../client/connection/connect.ts";
import type { ConfigText } from "../../core/config/config-file.ts";
import type { Config } from "../../core/config/spec.ts";
import type { TokenLimits } from "../../core/contract/token-claims.ts";

export type McpPorts = {
  /** Found anew with each call. @throws {ProcmanError} those of `targetPlace` */
  readonly place: () => ApiPlace;
  /** The configuration file, read anew. @throws {ProcmanError} `configuration-missing`; `usage`: it is on another machine */
  readonly source: () => ConfigText;
  readonly isValid: (source: ConfigText) => boolean;
  readonly checkEdited: (what: string, main: ConfigText, edited: ConfigText) => Config;
  readonly replaceFile: (file: string, text: string) => Promise<void>;
  /** A command as one would type it, for the same procman. */
  readonly asTyped: (command: string) => string;
  /** Absolute path of the folder with procman's package.json. */
  readonly packageFolder: string;
};

export type McpRights = {
  /** Absent: it may only read. */
  readonly mayControl: boolean;
  /** It may type into processes. */
  readonly mayType: boolean;
  /** The processes and groups that it sees and acts on; absent: all. */
  readonly limits?: TokenLimits;
  /** Tools that take a command line exist. */
  readonly allowsRun: boolean;
  /** The procman is on this machine, where its configuration file is. */
  readonly isLocal: boolean;
};
