/** A command with the surroundings of a process: the order, the answers, and who carries it out. */

import type { ExecInput, ExecLaunch, ExecOrder, ExecRecord, LaunchOrder } from "../../../generated/records.ts";
import { boolean, integer, type JsonSchema, list, map, object, openObject, optional, string } from "../base/schema.ts";
import { BASE64 } from "./input-schemas.ts";

export type { ExecInput, ExecLaunch, ExecOrder, ExecRecord, LaunchOrder } from "../../../generated/records.ts";

/** Longest part of an output that `ExecRecord` has. Bytes. */
export const MAX_KEPT_BYTES = 1_048_576;
/** Linux takes no longer argument, so that no longer list of them could be useful. */
const MAX_ARGUMENT = 131_071;
const MAX_ARGUMENTS = 4_096;

export const COMMAND = list(string({ pattern: "^[^\\u0000]*$", maxLength: MAX_ARGUMENT }), {
  minItems: 1,
  maxItems: MAX_ARGUMENTS,
  description: "The program and its arguments. No shell reads them.",
});

export const EXEC_ORDER = object(
  {
    command: COMMAND,
    stdin: optional(
      string({
        description:
          "Text for its standard input, which then ends. Absent: empty; with `follow=1` it stays open for `POST /exec/{id}/stdin`.",
      }),
    ),
  },
  { description: "A command to execute with the surroundings of a process." },
);

export const LAUNCH_ORDER = object(
  {
    command: COMMAND,
    pid: integer({ minimum: 1, description: "The caller, with whose end the command is ended." }),
    startTime: string({
      pattern: "^[\\w :-]{1,40}$",
      description: "When that has started, in the unit of the system.",
    }),
    niceness: integer({ minimum: -20, maximum: 19, description: "Of the caller." }),
  },
  { description: "A command that the caller will start itself." },
);

export const EXEC_INPUT = object(
  {
    data: optional(string({ pattern: BASE64, description: "Bytes in base64." })),
    end: optional(boolean({ description: "The input ends after them.", default: false })),
  },
  { description: "Standard input of a command." },
);

const ending = {
  code: optional(
    integer({ description: "Its exit code; 127 if there is no such program, 126 if it can't be executed." }),
  ),
  signal: optional(string({ description: "The signal that ended it, such as `SIGKILL`, in place of `code`." })),
};

export const EXEC_RECORD = openObject(
  {
    process: string({ description: "Id of the process or instance." }),
    ...ending,
    stdout: string({ description: "What it has written, as UTF-8: the first MiB." }),
    stderr: string({ description: "The same of its standard error." }),
    stdoutCut: boolean({ description: "Whether there was more." }),
    stderrCut: boolean({ description: "Whether there was more." }),
    durationMs: integer({ description: "How long it ran, in milliseconds." }),
  },
  { description: "A command that has ended." },
);

export const EXEC_LAUNCH = openObject(
  {
    process: string({ description: "Id of the process or instance." }),
    argv: list(string(), { description: "Program and arguments, with what sets the limits." }),
    cwd: string({ description: "Working directory." }),
    env: map(string(), { description: "Its whole environment, secrets included." }),
    uid: integer({ description: "User." }),
    gid: integer({ description: "Group." }),
    terminateMs: integer({
      description: "Time between SIGTERM and SIGKILL when the command is ended early, in milliseconds.",
    }),
  },
  { description: "How a command is started." },
);

const kind = (type: string): JsonSchema => ({ type: "string", const: type });
const data = string({ description: "Bytes in base64." });

export const EXEC_ITEM: JsonSchema = {
  description: "What happens to a command: it has started, it has written, it has ended.",
  oneOf: [
    {
      type: "object",
      required: ["type", "process", "session"],
      properties: {
        type: kind("started"),
        process: string({ description: "Id of the process or instance." }),
        session: string({ description: "For `POST /exec/{id}/stdin`." }),
      },
    },
    { type: "object", required: ["type", "data"], properties: { type: kind("stdout"), data } },
    { type: "object", required: ["type", "data"], properties: { type: kind("stderr"), data } },
    {
      type: "object",
      required: ["type", "durationMs"],
      properties: {
        type: kind("exited"),
        code: ending.code.optional,
        signal: ending.signal.optional,
        durationMs: EXEC_RECORD.properties?.durationMs ?? {},
      },
    },
  ],
};

export type ExecOutput = { readonly type: "stdout" | "stderr"; readonly data: string };

export type ExecEnd = {
  readonly type: "exited";
  readonly code?: number;
  readonly signal?: string;
  readonly durationMs: number;
};

export type ExecItem =
  | { readonly type: "started"; readonly process: string; readonly session: string }
  | ExecOutput
  | ExecEnd;

/** Executes commands with the surroundings of processes. All methods refuse with `process-unknown`, `exec-refused`. */
export interface Executor {
  /** Executes it here; it is ended when the signal is aborted. */
  execute(id: string, order: ExecOrder, signal: AbortSignal): AsyncIterable<ExecItem>;
  /** Resolves when the command has room for more. Rejects with `exec-unknown`, `too-many-requests`. */
  write(session: string, input: ExecInput): Promise<void>;
  /** How the caller starts a command itself. */
  launch(id: string, order: LaunchOrder): Promise<ExecLaunch>;
}

/** Keeps the first bytes of one output. */
export class KeptOutput {
  readonly #decoder = new TextDecoder();
  #text = "";
  #bytes = 0;

  /** Whether there were more bytes than are kept. */
  get isCut(): boolean {
    return this.#bytes > MAX_KEPT_BYTES;
  }

  add(chunk: Uint8Array): void {
    const room = MAX_KEPT_BYTES - this.#bytes;
    this.#bytes += chunk.length;
    if (room > 0) this.#text += this.#decoder.decode(chunk.subarray(0, room), { stream: true });
  }

  /** An incomplete character at its end is replaced, or left out where the output was cut. */
  end(): string {
    return this.isCut ? this.#text : this.#text + this.#decoder.decode();
  }
}

/** The command as one record. @throws what the items throw; Error if they end before the command */
export async function executed(items: AsyncIterable<ExecItem>): Promise<ExecRecord> {
  const kept = { stdout: new KeptOutput(), stderr: new KeptOutput() };
  let process = "";
  for await (const item of items) {
    if (item.type === "started") process = item.process;
    else if (item.type !== "exited") kept[item.type].add(bytesOf(item));
    else return recordOf(process, item, kept);
  }
  throw new Error("the command was ended with its request");
}

/** @param outputs what it has written */
export function recordOf(
  process: string,
  { type: _type, durationMs, ...end }: ExecEnd,
  { stdout, stderr }: { readonly stdout: KeptOutput; readonly stderr: KeptOutput },
): ExecRecord {
  const cut = { stdoutCut: stdout.isCut, stderrCut: stderr.isCut };
  return { process, ...end, stdout: stdout.end(), stderr: stderr.end(), ...cut, durationMs };
}

/** Why a command didn't start, and its exit code, as of a shell. `error`: of the spawn. */
export function whyNotExecuted(
  [program = ""]: readonly string[],
  { code = "", message }: { readonly code?: string | undefined; readonly message: string },
): { readonly text: string; readonly code: number } {
  const shown = JSON.stringify(program);
  if (code === "EACCES") return { text: `${shown} can't be executed (EACCES)`, code: 126 };
  if (code !== "ENOENT") return { text: `${shown} can't be started: ${message}`, code: 126 };
  const where = program.includes("/") ? "" : " in the PATH of the process";
  return { text: `there is no program ${shown}${where}`, code: 127 };
}

export function bytesOf({ data }: ExecOutput): Uint8Array {
  const text = atob(data);
  return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
}
