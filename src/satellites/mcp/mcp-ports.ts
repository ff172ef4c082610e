/** What the command passes in: which procman is meant, how its configuration file is edited, and how commands are executed. */
import type { Client } from "../../client/client.ts";
import type { ApiPlace } from "../../client/connection/connect.ts";
import type { ConfigText } from "../../core/config/config-file.ts";
import type { Config } from "../../core/config/spec.ts";
import type { ExecEnd } from "../../core/contract/execution.ts";
import type { TokenLimits } from "../../core/contract/token-claims.ts";

export type McpPorts = {
  /** Found anew with each call. @throws {ProcmanError} those of `targetPlace` */
  readonly place: () => ApiPlace;
  /** The configuration file, read anew. @throws {ProcmanError} `configuration-missing`; `usage`: it is on another machine */
  readonly source: () => ConfigText;
  readonly isValid: (source: ConfigText) => boolean;
  readonly checkEdited: (what: string, main: ConfigText, edited: ConfigText) => Config;
  readonly replaceFile: (file: string, text: string) => Promise<void>;
  /** Executes a command on this machine. `client`: of the owner. @throws {ProcmanError} those of `launch` */
  readonly execute: (client: Client, order: CommandOrder) => Promise<EndedCommand>;
  /** A command as one would type it, for the same procman. */
  readonly asTyped: (command: string) => string;
  /** Absolute path of the folder with procman's package.json. */
  readonly packageFolder: string;
};

/** A command with the surroundings of a process. */
export type CommandOrder = {
  readonly id: string;
  readonly command: readonly string[];
  /** The command is ended after this time, and when the signal is aborted. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** How much of the end of each output is kept. */
  readonly maxBytes: number;
};

export type EndedCommand = {
  readonly process: string;
  /** Absent: it was told to end, and hasn't yet. */
  readonly end?: Pick<ExecEnd, "code" | "signal">;
  readonly isTimedOut: boolean;
  readonly durationMs: number;
  readonly stdout: OutputEnd;
  readonly stderr: OutputEnd;
};

/** The end of an output. */
export type OutputEnd = {
  readonly text: string;
  /** There was more before. */
  readonly isCut: boolean;
};

export type McpRights = {
  /** Absent: it may only read. */
  readonly mayControl: boolean;
  /** The session may type into processes. */
  readonly mayType: boolean;
  /** The processes and groups that it sees and acts on; absent: all. */
  readonly limits?: TokenLimits;
  /** Tools that take a command line exist. */
  readonly allowsRun: boolean;
  /** The procman is on this machine, where its configuration file is. */
  readonly isLocal: boolean;
};
