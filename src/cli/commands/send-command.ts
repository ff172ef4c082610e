/** `procman send`: types into a process, which has `"stdin": true`. */
import type { Command } from "commander";
import type { Client } from "../../client/client.ts";
import { InputQueue } from "../../client/input-queue.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import type { InputRecord } from "../../core/contract/records.ts";
import { connect } from "../connected.ts";
import { keyText } from "../key-names.ts";
import { withTarget } from "../options.ts";
import type { TargetOptions } from "../target.ts";
import { listed } from "../token-limits.ts";

type Options = TargetOptions & {
  readonly raw?: boolean;
  readonly key?: readonly string[];
  readonly stdin?: boolean;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  withTarget(
    parent
      .command("send")
      .description(
        'Types a line into a process: the words with blanks between them, and a line end. The process has "stdin": true or "tty": true. While its program doesn\'t read, a pipe holds 64 KiB; what it has no room for is refused.',
      ),
  )
    .argument("<id>", "id of a process or an instance (web-2)")
    .argument("[text...]", 'the words; "" is an empty line; after -- also words that begin with -')
    .option("--raw", "without a line end")
    .option("--key <name...>", "press keys instead, of a process with a terminal: ctrl-c, enter, escape, up", listed)
    .option("--stdin", "send standard input instead, to its end; waits while the program doesn't read")
    .option("--json", "print the API record")
    .action(send);
}

async function send(
  id: string,
  words: readonly string[],
  { raw = false, key, stdin = false, json = false, ...target }: Options,
): Promise<void> {
  const isAlone = !raw && words.length === 0;
  if (stdin && !(isAlone && key === undefined))
    throw usage(id, '"--stdin" takes neither a text nor "--raw" or "--key"');
  if (key !== undefined && !isAlone) throw usage(id, '"--key" takes neither a text nor "--raw"');
  if (!stdin && key === undefined && words.length === 0)
    throw usage(id, 'no text is given; "" sends an empty line, "--stdin" what comes from standard input');
  const text = key?.map(keyText).join("") ?? `${words.join(" ")}${raw ? "" : "\n"}`;
  const client = await connect(target);
  if (key !== undefined) await checkTerminal(client, id);
  const record = stdin ? await sendInput(client, id) : await client.input(id, { text });
  process.stdout.write(json ? `${printableJson(record, 2)}\n` : `${record.process}: got ${bytesText(record)}\n`);
}

/** To a pipe a key is a byte like others. @throws {ProcmanError} `input-refused` */
async function checkTerminal(client: Client, id: string): Promise<void> {
  if ((await client.process(id)).terminal === true) return;
  const why = `it has no terminal; set "tty": true for it, or send a signal: "procman signal INT ${id}"`;
  throw new ProcmanError("input-refused", `Cannot press keys of ${JSON.stringify(id)}: ${why}`);
}

/** Sends standard input, one chunk after another. @throws {ProcmanError} those of `Client.input` but `input-full` */
async function sendInput(client: Client, id: string): Promise<InputRecord> {
  // An id that takes no input is refused before anything is read.
  const { process: named } = await client.input(id, { text: "" });
  const queue = new InputQueue(client, id, (isFull) => {
    if (isFull) process.stderr.write(`procman: ${id} doesn't read its input; the rest waits until it does\n`);
  });
  try {
    for await (const chunk of process.stdin) await queue.send(chunk as Buffer);
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    throw new ProcmanError(error.code, `${error.message}; ${queue.taken} bytes were sent before`, { cause: error });
  } finally {
    process.stdin.destroy();
  }
  return { process: named, bytes: queue.taken };
}

function bytesText({ bytes }: InputRecord): string {
  return bytes === 1 ? "1 byte" : `${bytes} bytes`;
}

function usage(id: string, why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot send to ${JSON.stringify(id)}: ${why}`);
}
