/** A command of `procman exec` on a machine that is reached by https: its service executes it; input and outputs travel over the API. */
import { once } from "node:events";
import type { Client } from "../client/client.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { printableJson } from "../core/base/printable.ts";
import { bytesOf, type ExecItem, executed } from "../core/contract/execution.ts";
import { type ExecRequest, exitCodeOf } from "./exec-here.ts";

type ExecClient = Pick<Client, "execute" | "write">;

/** Sets the exit code. When this process ends, the command is ended. @throws {ProcmanError} those of `execute` */
export async function executeThere(client: ExecClient, { id, command, json }: ExecRequest): Promise<void> {
  const items = withInput(client, client.execute(id, { command }, new AbortController().signal));
  try {
    if (json) {
      const record = await executed(items);
      process.exitCode = exitCodeOf(record);
      process.stdout.write(`${printableJson(record, 2)}\n`);
    } else await print(items);
  } finally {
    process.stdin.destroy();
  }
}

async function print(items: AsyncIterable<ExecItem>): Promise<void> {
  for await (const item of items) {
    if (item.type === "exited") {
      process.exitCode = exitCodeOf(item);
      return;
    }
    if (item.type === "started") continue;
    const stream = process[item.type];
    if (!stream.write(bytesOf(item))) await once(stream, "drain");
  }
}

/** Sends standard input as soon as the command has started, one chunk after another. */
async function* withInput(client: ExecClient, items: AsyncIterable<ExecItem>): AsyncGenerator<ExecItem> {
  let isOver = false;
  for await (const item of items) {
    if (item.type === "started") void sendInput(client, item.session);
    isOver = item.type === "exited";
    yield item;
  }
  if (!isOver)
    throw new ProcmanError(
      "service-down",
      "The result is unknown: the connection has ended before the command; procman there ends the command",
    );
}

async function sendInput(client: ExecClient, session: string): Promise<void> {
  try {
    for await (const chunk of process.stdin)
      await client.write(session, { data: Buffer.from(chunk as Uint8Array).toString("base64") });
    await client.write(session, { end: true });
  } catch (error) {
    // The command has ended, also before its input, or reads no more; what else is wrong ends its output, too.
    if (!(error instanceof ProcmanError) && !process.stdin.destroyed) throw error;
  }
}
