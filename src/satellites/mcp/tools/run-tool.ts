import { ProcmanError } from "../../../core/base/errors.ts";
import { duration } from "../../../core/base/quantity.ts";
import { boolean, integer, list, object, optional, string } from "../../../core/base/schema.ts";
import { COMMAND } from "../../../core/contract/execution.ts";
import { isCollective } from "../../../core/contract/groups.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { EndedCommand, OutputEnd } from "../mcp-ports.ts";
import { tool } from "../tool.ts";
import { DEFAULT_BUDGET, MAX_BYTES, timeoutSeconds } from "../tool-fields.ts";
import { cutTo, fenced, harmless, UNTRUSTED } from "../untrusted.ts";

/** Many clients give up after a minute. */
const DEFAULT_SECONDS = 45;
/** As shells say. */
const NO_PROGRAM = 127;
/** What a line takes beside its text. Bytes. */
const LINE_BYTES = 4;

export const runTool = tool({
  name: "run",
  title: "Run a command",
  description: `Runs a one-off command with user, folder, environment, secrets and limits of a process, which may be running or not: a migration, a test, a look at what the process sees. Its standard input is empty. Waits for its end, and answers with exit code and output; what it leaves in the background is ended. What should keep running is a process of the file instead. ${UNTRUSTED}`,
  input: object({
    id: string({
      minLength: 1,
      maxLength: 80,
      description: 'Id of a process, an instance ("web-2"), or a cluster, whose first instance is meant.',
    }),
    command: COMMAND,
    timeoutSeconds: optional(timeoutSeconds(DEFAULT_SECONDS, "After it the command is ended.")),
    maxBytes: optional(MAX_BYTES),
  }),
  output: {
    process: string({ description: "Id of the process or instance." }),
    code: optional(integer({ description: "Exit code; 127: no such program, 126: it can't be executed." })),
    signal: optional(string({ description: "The signal that ended it, in place of code." })),
    timedOut: boolean({ description: "Its time was over, so it was told to end." }),
    durationMs: integer({ description: "Milliseconds." }),
    stdout: list(string(), { description: "Untrusted: the last lines of its output." }),
    stderr: list(string(), { description: "Untrusted: the last lines of its errors." }),
    stdoutCut: boolean({ description: "There was more before." }),
    stderrCut: boolean({ description: "There was more before." }),
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  needs: ["run", "here"],
  call: async ({ id, command, timeoutSeconds: seconds = DEFAULT_SECONDS, maxBytes = DEFAULT_BUDGET }, context) => {
    const { connect, connectAsOwner, ports, signal } = context;
    // As this session sees it: for a limited one the processes of others don't exist.
    const seen = seenProcess(await (await connect()).process(id));
    const order = { id: seen, command, timeoutMs: seconds * 1_000, maxBytes, signal };
    const ended = await ports.execute(await connectAsOwner(), order);
    const { process, end, isTimedOut, durationMs } = ended;
    const outputs = within(ended, maxBytes);
    return {
      data: { process, ...end, timedOut: isTimedOut, durationMs, ...outputs },
      text: [
        `${process}: the command ${endText(ended)} after ${duration(durationMs)}`,
        ...fence("stdout", outputs.stdout, outputs.stdoutCut),
        ...fence("stderr", outputs.stderr, outputs.stderrCut),
      ].join("\n"),
      next: nextAfter(ended),
      ...((isTimedOut || end?.code !== 0) && { hasFailed: true }),
    };
  },
});

/** @throws {ProcmanError} `input-invalid` */
function seenProcess({ id, instances = [] }: ProcessRecord): string {
  if (!isCollective(id)) return instances[0]?.id ?? id;
  throw new ProcmanError("input-invalid", `Cannot run a command in "${id}": it is not one process; name one`);
}

function endText({ end, isTimedOut }: EndedCommand): string {
  const how = end === undefined ? "has not ended yet" : (end.signal ?? `exit code ${end.code}`);
  const said = end === undefined ? how : `ended (${how})`;
  return isTimedOut ? `was told to end, and ${said}` : said;
}

function nextAfter({ end, isTimedOut }: EndedCommand): string {
  if (isTimedOut) return 'Give it more "timeoutSeconds"; what should keep running is a process of the file.';
  if (end?.code === NO_PROGRAM)
    return 'Correct the program, or the PATH of the process. No shell reads the command: for pipes and variables run ["sh", "-c", "…"].';
  return end?.code === 0 ? "Go on." : "Read its output; the command has failed.";
}

type ShownOutputs = {
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly stdoutCut: boolean;
  readonly stderrCut: boolean;
};

/** Each output gets half of the budget, and what the other one leaves. */
function within({ stdout, stderr }: EndedCommand, maxBytes: number): ShownOutputs {
  const [out, err] = [stdout, stderr].map(linesOf) as [readonly string[], readonly string[]];
  const half = Math.floor(maxBytes / 2);
  const shownErr = lastLines(err, Math.max(half, maxBytes - bytesOf(out)));
  const shownOut = lastLines(out, maxBytes - bytesOf(shownErr));
  return {
    stdout: shownOut,
    stderr: shownErr,
    stdoutCut: stdout.isCut || shownOut.length < out.length,
    stderrCut: stderr.isCut || shownErr.length < err.length,
  };
}

function linesOf({ text }: OutputEnd): readonly string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n").map(harmless);
}

function bytesOf(lines: readonly string[]): number {
  return lines.reduce((bytes, line) => bytes + Buffer.byteLength(line) + LINE_BYTES, 0);
}

/** The last lines that fit; of a last one that doesn't, its beginning. */
function lastLines(lines: readonly string[], maxBytes: number): readonly string[] {
  let bytes = 0;
  const over = lines.findLastIndex((line) => {
    bytes += Buffer.byteLength(line) + LINE_BYTES;
    return bytes > maxBytes;
  });
  const last = lines.at(-1);
  return over === lines.length - 1 && last !== undefined ? [cutTo(last, maxBytes)] : lines.slice(over + 1);
}

function fence(name: string, lines: readonly string[], isCut: boolean): readonly string[] {
  return lines.length === 0 ? [] : [fenced(isCut ? `end of ${name}` : name, lines)];
}
