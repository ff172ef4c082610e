/** Input for runs, with real FIFOs. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Process } from "../../supervisor/process.ts";
import { inputFile, typeInto } from "./process-input.ts";

const MEBIBYTE = 1_048_576;

type Rig = {
  readonly file: string;
  /** Types into the process `repl`. */
  readonly type: (input: string | Uint8Array, spec?: object) => number;
  /** What can be read now. */
  readonly read: () => Buffer;
  readonly closeInput: () => void;
};

/** A process whose run holds both ends of its FIFO, as the keeper starts it. */
function rig(context: TestContext, states: readonly object[] = [{ status: "running", pid: 7 }]): Rig {
  const stateDir = mkdtempSync(join(tmpdir(), "procman-input-"));
  context.after(() => rmSync(stateDir, { recursive: true }));
  const file = inputFile(stateDir, "repl");
  mkdirSync(dirname(file));
  execFileSync("mkfifo", [file]);
  const fd = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
  let isOpen = true;
  const closeInput = (): void => {
    if (isOpen) closeSync(fd);
    isOpen = false;
  };
  context.after(closeInput);
  const runs = states.map((state, index) => ({ slot: "repl", run: index + 1, state }));
  return {
    file,
    type: (input, spec: object = { stdin: true }) => {
      const specs = { of: () => spec, config: { stateDir } };
      const records = { of: () => ({ reason: "is stopped" }) };
      const process = { id: "repl", runs } as unknown as Process;
      return typeInto(process, input, { specs, records } as unknown as Parameters<typeof typeInto>[2]);
    },
    read: () => {
      const buffer = Buffer.alloc(MEBIBYTE);
      return buffer.subarray(0, readSync(fd, buffer));
    },
    closeInput,
  };
}

test("input is in the pipe when the call returns, byte by byte as it was given", (context) => {
  const { type, read } = rig(context);
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
  assert.deepEqual([type("a line\n"), type(bytes), type("")], [7, 256, 0]);
  assert.deepEqual(read(), Buffer.concat([Buffer.from("a line\n"), bytes]));
});

test("on a terminal the line ends of a text are the key Enter; bytes stay as they are", (context) => {
  const { type, read } = rig(context);
  assert.equal(type("one\ntwo\n", { tty: true }), 8);
  assert.equal(read().toString(), "one\rtwo\r");
  type(Buffer.from("one\n"), { tty: true });
  assert.equal(read().toString(), "one\n");
});

test("a full pipe takes whole lines, and says how many bytes they have; what follows continues there", (context) => {
  const { type, read } = rig(context);
  const lines = Array.from({ length: 2_000 }, (_, index) => `${index} ${"x".repeat(index % 100)}\n`).join("");
  const taken = takenOf(() => type(lines));
  assert.ok(taken > 40_000 && taken < lines.length, String(taken));
  assert.equal(lines[taken - 1], "\n");
  assert.equal(
    takenOf(() => type("y".repeat(4_096))),
    0,
    "it is still full",
  );
  const first = read().toString();
  assert.equal(type(lines.slice(taken, taken + 1_000)), 1_000);
  assert.equal(first + read().toString(), lines.slice(0, taken + 1_000));
});

test("a line of up to 4096 bytes is taken whole or not at all, also after a longer one", (context) => {
  const { type, read } = rig(context);
  const long = `${"z".repeat(60_000)}\n`;
  const line = `${"a".repeat(4_095)}\n`;
  const taken = takenOf(() => type(long + line + line + line));
  assert.equal((taken - long.length) % line.length, 0, String(taken));
  assert.equal(read().length, taken);
});

test("a line that no pipe holds is cut, and the rest follows when there is room", (context) => {
  const { type, read } = rig(context);
  const long = Buffer.alloc(200_000, "0123456789");
  const got: Buffer[] = [];
  for (let rest = long; rest.length > 0; got.push(read())) rest = rest.subarray(takenOf(() => type(rest)));
  assert.deepEqual(Buffer.concat(got), long);
});

test("what can't be typed into is refused with the remedy", (context) => {
  const { type, file, closeInput } = rig(context);
  assert.throws(() => type("x\n", {}), {
    code: "input-refused",
    message: 'Cannot send to "repl": it takes no input; set "stdin": true for it, and run "procman reload"',
  });
  closeInput();
  const closed = /^Cannot send to "repl": its program has closed its standard input, or has just ended$/;
  assert.throws(() => type("x\n"), { code: "input-refused", message: closed });
  rmSync(file);
  const gone =
    /^Cannot send to "repl": its FIFO .*\/stdin-repl was removed, or its program has just ended; restart it$/;
  assert.throws(() => type("x\n"), { code: "input-refused", message: gone });
  const stopped = rig(context, []);
  assert.throws(() => stopped.type("x\n"), {
    code: "process-not-running",
    message: 'Cannot send to "repl": it is stopped',
  });
  const starting = rig(context, [{ status: "starting" }]);
  assert.throws(() => starting.type("x\n"), { code: "process-not-running" });
});

test("what lies in the place of the FIFO is neither followed nor written", (context) => {
  const { type, file } = rig(context);
  const other = `${file}.other`;
  writeFileSync(other, "");
  rmSync(file);
  symlinkSync(other, file);
  assert.throws(() => type("x\n"), { code: "input-refused", message: /too many symbolic links/ });
  rmSync(file);
  writeFileSync(file, "");
  assert.throws(() => type("x\n"), { code: "input-refused", message: /is no longer its FIFO; restart it$/ });
});

/** How many bytes were taken of what there was no room for, or of all. */
function takenOf(call: () => number): number {
  try {
    return call();
  } catch (error) {
    const { code, taken } = error as { readonly code?: string; readonly taken?: number };
    assert.equal(code, "input-full");
    return taken ?? assert.fail("it doesn't say how much was taken");
  }
}
