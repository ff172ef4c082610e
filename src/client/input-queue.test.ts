import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../core/base/errors.ts";
import type { ProcessInput } from "../core/contract/control.ts";
import { type InputControl, InputQueue } from "./input-queue.ts";

const ignore = (): void => undefined;

/** A process whose pipe has room for so many bytes; after each refusal it reads some, but not after the first `deaf` ones. */
class Pipe implements InputControl {
  room: number;
  readonly #reads: number;
  #deaf: number;
  readonly requests: Buffer[] = [];

  constructor(room = Number.POSITIVE_INFINITY, reads = 0, deaf = 0) {
    this.room = room;
    this.#reads = reads;
    this.#deaf = deaf;
  }

  get text(): string {
    return Buffer.concat(this.requests).toString();
  }

  async input(id: string, { text, data = "" }: ProcessInput): Promise<{ process: string; bytes: number }> {
    const bytes = text === undefined ? Buffer.from(data, "base64") : Buffer.from(text);
    const taken = Math.min(this.room, bytes.length);
    this.room -= taken;
    this.requests.push(bytes.subarray(0, taken));
    if (taken === bytes.length) return { process: id, bytes: taken };
    this.#deaf -= 1;
    if (this.#deaf < 0) this.room += this.#reads;
    throw new ProcmanError("input-full", `Cannot send to "${id}": it doesn't read`, { taken });
  }
}

test("what the pipe has no room for waits, and arrives once and in order; full and read are said once", async () => {
  const pipe = new Pipe(4, 5, 5);
  const said: boolean[] = [];
  const queue = new InputQueue(pipe, "web", (isFull) => said.push(isFull));
  const sent = await Promise.all(["first\n", "second\n"].map((line) => queue.send(Buffer.from(line))));
  assert.deepEqual(sent, [true, true]);
  assert.equal(pipe.text, "first\nsecond\n");
  assert.deepEqual(said, [true, false]);
  assert.equal(await queue.drop(), 0);
});

test("a pipe that is full for a moment, as the process reads slowly, is not said", async () => {
  const pipe = new Pipe(4, 5);
  const queue = new InputQueue(pipe, "web", () => assert.fail("it reads"));
  assert.equal(await queue.send(Buffer.from("a line of more than one part\n")), true);
  assert.equal(pipe.text, "a line of more than one part\n");
});

test("more than a pipe holds is sent in several requests", async () => {
  const pipe = new Pipe();
  const text = "ü€😀\n".repeat(20_000);
  assert.equal(await new InputQueue(pipe, "web", ignore).send(Buffer.from(text)), true);
  assert.equal(pipe.requests.length, 4);
  assert.equal(pipe.text, text);
});

test("dropped lines are not sent, and say so; later ones are", async () => {
  const pipe = new Pipe(2);
  const queue = new InputQueue(pipe, "web", () => {
    void queue.drop();
    pipe.room = Number.POSITIVE_INFINITY;
  });
  const sent = ["abcd", "efgh"].map((text) => queue.send(Buffer.from(text)));
  assert.deepEqual(await Promise.all(sent), [false, false]);
  assert.equal(await queue.drop(), 0);
  assert.equal(await queue.send(Buffer.from("new")), true);
  assert.equal(pipe.text, "abnew");
});

test("a refusal reaches the caller of that line alone, who may drop what follows it", async () => {
  let isOver = true;
  let asked = 0;
  const pipe = new Pipe();
  const queue = new InputQueue(
    {
      input: (id, input) => {
        asked += 1;
        if (isOver) throw new ProcmanError("process-not-running", `"${id}" isn't running`);
        return pipe.input(id, input);
      },
    },
    "web",
    ignore,
  );
  await assert.rejects(queue.send(Buffer.from("one")), { code: "process-not-running" });
  const dropped = queue.send(Buffer.from("one")).catch(() => queue.drop());
  assert.equal(await queue.send(Buffer.from("behind")), false);
  assert.deepEqual([await dropped, asked], ["behind".length, 2]);
  isOver = false;
  assert.equal(await queue.send(Buffer.from("two")), true);
  assert.equal(pipe.text, "two");
});

test("a process that never reads makes a line wait, and refuses what would be more than a MiB", async () => {
  const pipe = new Pipe(0);
  const queue = new InputQueue(pipe, "web", ignore);
  const first = queue.send(Buffer.alloc(1_000_000));
  await assert.rejects(queue.send(Buffer.alloc(100_000)), { code: "input-full", message: /1000000 bytes wait for it/ });
  assert.equal(await queue.drop(), 1_000_000);
  assert.equal(await first, false);
});

test("a text is sent as text, so that a terminal gets Enter; where the pipe has cut a character, the rest as bytes", async () => {
  const pipe = new Pipe(4, 100);
  const sent: string[] = [];
  const control: InputControl = {
    input: (id, input) => {
      sent.push(...Object.keys(input));
      return pipe.input(id, input);
    },
  };
  assert.equal(await new InputQueue(control, "web", ignore).send("one€\n"), true);
  assert.equal(pipe.text, "one€\n");
  assert.deepEqual(sent, ["text", "data"]);
});
