/** Records of commands: what is kept of their outputs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type ExecItem, executed, KeptOutput, MAX_KEPT_BYTES, whyNotExecuted } from "./execution.ts";

async function* items(...all: readonly ExecItem[]): AsyncGenerator<ExecItem> {
  yield* all;
}

const chunk = (type: "stdout" | "stderr", bytes: Buffer): ExecItem => ({ type, data: bytes.toString("base64") });

test("the record of a command has its outputs as text, also where a character comes in two pieces", async () => {
  const [first, second] = [Buffer.from("gr\xc3", "latin1"), Buffer.from("\xbc\xc3\x9fe", "latin1")];
  const record = await executed(
    items(
      { type: "started", process: "web", session: "web.1.1" },
      chunk("stdout", first),
      chunk("stderr", Buffer.from("hm\n")),
      chunk("stdout", second),
      { type: "exited", code: 3, durationMs: 7 },
    ),
  );
  const outputs = { stdout: "grüße", stderr: "hm\n", stdoutCut: false, stderrCut: false };
  assert.deepEqual(record, { process: "web", code: 3, ...outputs, durationMs: 7 });
});

test("of a longer output the first MiB is kept, without a half character at its end; half a character at the end of a whole output is replaced", () => {
  const long = new KeptOutput();
  for (let count = 0; count < MAX_KEPT_BYTES - 1; count += 1_024) long.add(Buffer.alloc(1_024, "x"));
  assert.equal(long.isCut, false);
  long.add(Buffer.from("ü"));
  assert.deepEqual([long.isCut, long.end().length], [true, MAX_KEPT_BYTES]);
  const cut = new KeptOutput();
  cut.add(Buffer.alloc(MAX_KEPT_BYTES - 1, "x"));
  cut.add(Buffer.from("ü"));
  assert.deepEqual([cut.isCut, cut.end().length], [true, MAX_KEPT_BYTES - 1]);
  const half = new KeptOutput();
  half.add(Buffer.from([0x61, 0xc3]));
  assert.deepEqual([half.isCut, half.end()], [false, "a\ufffd"]);
});

test("a stream that ends before its command has no record", async () => {
  await assert.rejects(executed(items({ type: "started", process: "web", session: "web.1.1" })), /was ended/);
});

test("a program that can't be started has the exit code of shells", () => {
  assert.deepEqual(
    [
      { code: "ENOENT", message: "" },
      { code: "EACCES", message: "" },
      { code: "E2BIG", message: "spawn E2BIG" },
    ].map((error) => whyNotExecuted(["tool", "x"], error)),
    [
      { text: 'there is no program "tool" in the PATH of the process', code: 127 },
      { text: '"tool" can\'t be executed (EACCES)', code: 126 },
      { text: '"tool" can\'t be started: spawn E2BIG', code: 126 },
    ],
  );
});
