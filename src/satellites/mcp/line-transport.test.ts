import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { LineTransport, MAX_MESSAGE_BYTES } from "./line-transport.ts";

type Answer = { readonly id?: number; readonly error: { readonly code: number; readonly message: string } };

/** Sends the chunks; resolves with the messages that were read, and the answers. */
async function readOf(chunks: readonly (string | Buffer)[]): Promise<{ messages: unknown[]; answers: Answer[] }> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const messages: unknown[] = [];
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const transport = new LineTransport(input, output, end);
  transport.onmessage = (message) => void messages.push(message);
  await transport.start();
  for (const chunk of chunks) input.write(chunk);
  input.end();
  await ended;
  await setImmediate();
  const text = (output.read() as Buffer | null)?.toString("utf8") ?? "";
  const answers = text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Answer]));
  return { messages, answers };
}

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

test("what is not a message gets an error with its id, as far as it can be read, and the next message is read", async () => {
  const bad = ["{", "null", "[1]", '{"jsonrpc":"2.0","id":7}', '{"jsonrpc":"1.0","id":8,"method":"ping"}', '"\ud800"'];
  const { messages, answers } = await readOf([`${bad.join("\n")}\n\n${JSON.stringify(PING)}\r\n`]);
  assert.deepEqual(messages, [PING]);
  assert.deepEqual(
    answers.map(({ id, error }) => [id, error.code]),
    [
      [undefined, -32_700],
      [undefined, -32_600],
      [undefined, -32_600],
      [7, -32_600],
      [8, -32_600],
      [undefined, -32_600],
    ],
  );
  assert.match(answers[2]?.error.message ?? "", /batches are not part of MCP/);
});

test("a message of more than 4 MiB is refused with its size, without keeping it", async () => {
  const long = Buffer.alloc(MAX_MESSAGE_BYTES / 2, "a");
  const { messages, answers } = await readOf([long, long, long, `\n${JSON.stringify(PING)}\n`]);
  assert.deepEqual(messages, [PING]);
  assert.match(answers[0]?.error.message ?? "", new RegExp(`has ${(MAX_MESSAGE_BYTES / 2) * 3} bytes`));
});

test("a message that nests 10 000 lists, and bytes that are not UTF-8, don't end the session", async () => {
  const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${"[".repeat(10_000)}${"]".repeat(10_000)}}}\n`;
  const { messages } = await readOf([deep, Buffer.from([0xff, 0xfe, 0x0a]), `${JSON.stringify(PING)}\n`]);
  assert.deepEqual(messages.at(-1), PING);
});

test("messages are read whatever the chunks that they come in", async () => {
  const text = Buffer.from(`${JSON.stringify({ ...PING, params: { text: "é€😀" } })}\n`.repeat(3));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
      const ends = [0, ...cuts.sort((one, other) => one - other), text.length];
      const chunks = ends.slice(1).map((end, index) => text.subarray(ends[index], end));
      const { messages, answers } = await readOf(chunks);
      assert.deepEqual([messages.length, answers.length], [3, 0]);
    }),
    { numRuns: 50 },
  );
});
