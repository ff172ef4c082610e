/** One-time codes of the dashboard. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CODE_SECONDS, SignInCodes } from "./sign-in-codes.ts";

test("a code works once, and no other text does", () => {
  const codes = new SignInCodes<string>();
  const code = codes.make("mine");
  assert.match(code, /^[\w-]{43}$/);
  assert.deepEqual(
    [codes.take(""), codes.take(`${code}x`), codes.take(code), codes.take(code)],
    [undefined, undefined, "mine", undefined],
  );
});

test("a code is void after 30 s, by a clock that can't be set", () => {
  let now = 0;
  const codes = new SignInCodes<string>(() => now);
  const [early, late] = [codes.make("early"), codes.make("late")];
  now = CODE_SECONDS * 1_000 - 1;
  assert.equal(codes.take(early), "early");
  now += 1;
  assert.equal(codes.take(late), undefined);
});

test("at most 100 codes wait: the oldest go first", () => {
  const codes = new SignInCodes<number>();
  const made = Array.from({ length: 101 }, (_, index) => codes.make(index));
  assert.deepEqual(
    [codes.take(made[0] ?? ""), codes.take(made[1] ?? ""), codes.take(made[100] ?? "")],
    [undefined, 1, 100],
  );
});
