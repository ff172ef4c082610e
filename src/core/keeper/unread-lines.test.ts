import assert from "node:assert/strict";
import { test } from "node:test";
import type { LoggerMessage } from "../ipc/logger-protocol.ts";
import { UnreadLines } from "./unread-lines.ts";

const line = (text: string): LoggerMessage => ({ t: "say", at: 1, severity: "info", text });

test("lines are kept in order for each logger that is started, until one has answered", () => {
  const lines = new UnreadLines();
  lines.add(line("a"));
  assert.deepEqual(lines.all, [line("a")]);
  lines.add(line("b"));
  assert.deepEqual(lines.all, [line("a"), line("b")]);
  lines.clear();
  assert.deepEqual(lines.all, []);
});

test("their number is limited, and the keeper reports how many are lost", () => {
  const reported: string[] = [];
  const lines = new UnreadLines((problem) => reported.push(problem));
  for (let number = 0; number < 10_003; number += 1) lines.add(line(`${number}`));
  assert.equal(lines.all.length, 10_000);
  lines.clear();
  lines.clear();
  assert.equal(reported.length, 1);
  assert.match(reported[0] ?? "", /3 lines of procman itself are lost/);
});
