/** What a tool is, and how its answers are checked and written. */
import type { Client } from "../../client/client.ts";
import { type ErrorCode, ProcmanError } from "../../core/base/errors.ts";
import { type JsonSchema, type Members, openObject, type Schema, string } from "../../core/base/schema.ts";
import { faultsOf } from "../../core/base/schema-check.ts";
import type { McpPorts } from "./mcp-ports.ts";
import { harmless } from "./untrusted.ts";

export type ToolAnswer = {
  /** As `output` describes it, without `next`. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The same for clients that show text alone. */
  readonly text: string;
  /** What to do now. */
  readonly next: string;
  /** What was asked for wasn't reached. */
  readonly hasFailed?: boolean;
};

export type ToolContext = {
  /** Connects to the procman that runs now. */
  readonly connect: () => Promise<Client>;
  /** The same with the rights to execute commands. */
  readonly connectAsOwner: () => Promise<Client>;
  /** Connects with the right to read the texts of earlier configurations, and to put them back. */
  readonly connectForTexts: () => Promise<Client>;
  readonly ports: McpPorts;
  /** Aborted when the client cancels the call, or has gone. */
  readonly signal: AbortSignal;
};

/** What a session must have, or else it doesn't have the tool: `here`: procman runs on this machine; `file`: the session sees all of its configuration file; `run`: a command line may be given. */
export type ToolNeed = "read" | "control" | "input" | "reload" | "here" | "file" | "run";

export type Tool = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output: JsonSchema;
  readonly annotations: ToolHints;
  readonly needs: readonly ToolNeed[];
  readonly call: (input: never, context: ToolContext) => Promise<ToolAnswer>;
};

/** Hints of the protocol. */
export type ToolHints = Readonly<
  Record<"readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint", boolean>
>;

export const READS: ToolHints = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

export function tool<Input>(
  spec: Omit<Tool, "call" | "input" | "output"> & {
    readonly input: Schema<Input>;
    readonly output: Members;
    readonly call: (input: Input, context: ToolContext) => Promise<ToolAnswer>;
  },
): Tool {
  const output = openObject({ ...spec.output, next: string({ description: "What to do now." }) });
  return { ...spec, output } as unknown as Tool;
}

/** A result of the protocol. */
export type ToolResult = {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: true;
};

/** Never rejects: what fails is an answer that says why, and what to do. */
export async function callTool(called: Tool, given: unknown, context: ToolContext): Promise<ToolResult> {
  const faults = faultsOf(given, called.input, "");
  if (faults.length > 0) {
    const list = faults.map(({ place, message }) => `${place.replace(/^\./, "") || "the arguments"} ${message}`);
    return failed("input-invalid", `Cannot call ${called.name}: ${list.join("; ")}`, "Correct the arguments.");
  }
  try {
    const { data, text, next, hasFailed } = await called.call(given as never, context);
    return {
      content: [{ type: "text", text: `${text}\n\nNext: ${next}` }],
      structuredContent: { ...data, next },
      ...(hasFailed === true && { isError: true }),
    };
  } catch (error) {
    if (!(error instanceof ProcmanError))
      return failed(
        "internal",
        `This is a bug of procman: ${(error as Error).message}`,
        "Report it, or go on without.",
      );
    return failed(error.code, error.message, remedyFor(error, context.ports));
  }
}

function failed(code: string, message: string, next: string): ToolResult {
  const lines = message.split("\n").map(harmless).join("\n");
  return { content: [{ type: "text", text: `${code}: ${lines}\n\nNext: ${next}` }], isError: true };
}

/** Where the message names the remedy, and only the user can apply it. */
const AS_SAID = "Ask the user to do that.";
const FEW_RIGHTS =
  'This session may not do that. Its rights are those of "procman mcp --scope … --process …", which only the user can change; a procman of an older version needs "procman upgrade".';

/** What an agent does after an error; those of which the remedy depends on the session are in `remedyFor`. */
const REMEDIES: Partial<Readonly<Record<ErrorCode, string>>> = {
  "state-folder": AS_SAID,
  "service-down": "Try again in some seconds: procman restarts its parts by itself. The processes keep running.",
  "process-unknown": 'Call "status" for the ids.',
  "exec-refused": "Only the user can change that.",
  "exec-failed": "Correct what is missing, or the command.",
  "scope-missing": FEW_RIGHTS,
  "process-foreign": FEW_RIGHTS,
  "history-unknown": 'Call "history" for the entries.',
  "history-damaged": 'Call "history" for the entries.',
  "configuration-invalid": 'Correct the file, call "validate", then "plan".',
  "input-invalid": "Correct the arguments.",
  usage: 'The user has to name the procman that is meant, with --config, --name or --host of "procman mcp".',
  "configuration-missing": "Look for the configuration file; the user may have to name it with --config.",
  unauthorized: 'The user has locked agents out: "mcp" is in "api.revoked" of the configuration.',
  "input-refused": 'If it should take input, ask the user for "stdin": true in the configuration file.',
  "input-full": "Its program doesn't read. Wait, and send what was not taken.",
  "process-blocked": "It is blocked by the user, who alone should unblock it.",
};

function remedyFor({ code, cause }: ProcmanError, { asTyped }: McpPorts): string {
  switch (code) {
    case "no-daemon":
      // The procman of another user.
      if ((cause as NodeJS.ErrnoException | undefined)?.code === "EACCES") return AS_SAID;
      return `procman isn't running. Ask the user to run "${asTyped("up")}", or run it yourself if you have a shell.`;
    case "path-unknown":
      return `The running procman is older: ask the user to run "${asTyped("upgrade")}".`;
    case "rollback-refused":
      return `Only the user should decide that: "${asTyped("rollback --force")}".`;
    default:
      return REMEDIES[code] ?? 'Call "status" to see the present state.';
  }
}
