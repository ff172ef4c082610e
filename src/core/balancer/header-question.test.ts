/** The answer to whether a program reads headers. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { shared } from "./buffer-pool.ts";
import { HeaderQuestion } from "./header-question.ts";
import { END_OF_FILE, type Tcp, type TcpHandle, type TcpOwner } from "./tcp-handle.ts";

const TOKEN = "0123456789abcdef";

function rig(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const seen = { answers: [] as boolean[], isClosed: false };
  let owner: TcpOwner | undefined;
  const close = (): void => {
    seen.isClosed = true;
  };
  const socket = { useUserBuffer: () => undefined, readStart: () => undefined, close } as unknown as TcpHandle;
  const setOwner = (_handle: TcpHandle, of: TcpOwner): void => {
    owner = of;
  };
  const tcp = { setOwner, write: () => 0 } as unknown as Tcp;
  new HeaderQuestion(tcp, socket, { version: 1, token: TOKEN, answered: (reads) => seen.answers.push(reads) });
  const says = (text: string): void => void owner?.onRead(shared.write(text, "hex"));
  return { seen, says, ends: () => owner?.onRead(END_OF_FILE), wait: (ms: number) => context.mock.timers.tick(ms) };
}

test("the token is the answer yes, also in parts; anything else and the end are no", (context) => {
  const whole = rig(context);
  whole.says(TOKEN.slice(0, 6));
  assert.deepEqual(whole.seen, { answers: [], isClosed: false });
  whole.says(TOKEN.slice(6));
  assert.deepEqual(whole.seen, { answers: [true], isClosed: true });
  for (const no of ["0123ff", "48545450", `${TOKEN}00`]) {
    context.mock.timers.reset();
    const other = rig(context);
    other.says(no);
    assert.deepEqual(other.seen, { answers: [false], isClosed: true });
  }
  context.mock.timers.reset();
  const ending = rig(context);
  ending.ends();
  assert.deepEqual(ending.seen, { answers: [false], isClosed: true });
});

test("a program that says nothing for 5 s gets its clients without headers, until it answers after all", (context) => {
  const { seen, says, wait } = rig(context);
  wait(4_999);
  assert.deepEqual(seen.answers, []);
  wait(1);
  assert.deepEqual(seen, { answers: [false], isClosed: false });
  says(TOKEN);
  assert.deepEqual(seen, { answers: [false, true], isClosed: true });
});
