/** What a tool is, and how its answers are checked and written. */
import type { Client } from "../../client/client.ts";
import { ProcmanError } from "../../core/base/errors.ts";
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
  readonly ports: McpPorts;
  /** Aborted when the client cancels the call, or has gone. */
  readonly signal: AbortSignal;
};

/** What a session must have, or else it doesn't have the tool: `file`: the configuration file is here; `run`: a command line may be given. */
export type ToolNeed = "read" | "control" | "input" | "reload" | "file" | "run";

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

function remedyFor({ code }: ProcmanError, { asTyped }: McpPorts): string {
  switch (code) {
    case "no-daemon":
      return `procman isn't running. Ask the user to run "${asTyped("up")}", or run it yourself if you have a shell.`;
    case "service-down":
      return "Try again in some seconds: procman restarts its parts by itself. The processes keep running.";
    case "process-unknown":
      return 'Call "status" for the ids.';
    case "scope-missing":
    case "process-foreign":
      return 'This session may not do that. Its rights are those of "procman mcp --scope … --process …", which only the user can change; a procman of an older version needs "procman upgrade".';
    case "configuration-invalid":
      return 'Correct the file, call "validate", then "plan".';
    case "input-invalid":
      return "Correct the arguments.";
    case "usage":
      return 'The user has to name the procman that is meant, with --config, --name or --host of "procman mcp".';
    case "configuration-missing":
      return "Look for the configuration file; the user may have to name it with --config.";
    case "unauthorized":
      return 'The user has locked agents out: "mcp" is in "api.revoked" of the configuration.';
    case "input-refused":
      return 'If it should take input, ask the user for "stdin": true in the configuration file.';
    case "input-full":
      return "Its program doesn't read. Wait, and send what was not taken.";
    case "process-blocked":
      return "It is blocked by the user, who alone should unblock it.";
    default:
      return 'Call "status" to see the present state.';
  }
}
