import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import type { LoggerMessage } from "../ipc/logger-protocol.ts";
import { LogSubmissions, type Submission } from "./log-submissions.ts";

type Sent = Omit<LoggerMessage, "t">;

/** With `isStored`, the store is asked at once; without, the logger has a minute to confirm. */
function rig(isStored?: (entry: Submission) => Promise<boolean>) {
  const sent: Sent[] = [];
  const confirmMs = isStored === undefined ? 60_000 : 5;
  return {
    sent,
    submissions: new LogSubmissions(
      { addNow: (entry) => void sent.push(entry) },
      isStored ?? (async () => false),
      confirmMs,
    ),
  };
}

function entry(text: string): Submission {
  return { at: 1, severity: "info", text, category: "log", id: "web" };
}

function receiptsOf(sent: readonly Sent[]): number[] {
  return sent.flatMap(({ receipt }) => receipt ?? []);
}

function isUnavailable(pattern: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof ProcmanError && error.code === "log-unavailable" && pattern.test(error.message);
}

test("an entry is done when the logger has confirmed it, and not before", async () => {
  const { sent, submissions } = rig();
  let done = 0;
  const both = [submissions.add(entry("one")), submissions.add(entry("two"))].map((each) => each.then(() => done++));
  assert.deepEqual(
    sent.map(({ text }) => text),
    ["one", "two"],
  );
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(done, 0);
  submissions.onStored({ t: "stored", receipts: receiptsOf(sent).toReversed() });
  await Promise.all(both);
  assert.equal(done, 2);
});

test("a confirmation for a service that was killed confirms no entry of the next one", async (context) => {
  context.mock.timers.enable({ apis: ["Date"], now: 1_000 });
  const former = rig();
  const first = former.submissions.add(entry("one"));
  context.mock.timers.tick(1);
  const next = rig();
  let isDone = false;
  const second = next.submissions.add(entry("two")).then(() => {
    isDone = true;
  });
  next.submissions.onStored({ t: "stored", receipts: receiptsOf(former.sent) });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isDone, false);
  next.submissions.onStored({ t: "stored", receipts: receiptsOf(next.sent) });
  former.submissions.onStored({ t: "stored", receipts: receiptsOf(former.sent) });
  await Promise.all([first, second]);
});

test("entries that can't be stored are refused with the reason", async () => {
  const { sent, submissions } = rig();
  const refused = submissions.add(entry("one"));
  submissions.onStored({ t: "stored", receipts: receiptsOf(sent), problem: "no space left on device" });
  await assert.rejects(refused, isUnavailable(/no space left/));
});

test("without a confirmation, the store tells whether the entry is there", async () => {
  const { submissions } = rig(async ({ text }) => text === "stored");
  await submissions.add(entry("stored"));
  await assert.rejects(submissions.add(entry("lost")), isUnavailable(/doesn't answer/));
});

test("a limited number of bytes is under way; the rest waits in order, and what is more than that is refused", async () => {
  const { sent, submissions } = rig(async () => true);
  const text = "x".repeat(65_000);
  const accepted = Array.from({ length: 40 }, () => submissions.add(entry(text)));
  assert.equal(sent.length, 4);
  submissions.onStored({ t: "stored", receipts: receiptsOf(sent).slice(0, 2) });
  assert.equal(sent.length, 6);
  assert.equal(new Set(receiptsOf(sent)).size, 6);
  const more = Array.from({ length: 100 }, () =>
    submissions.add(entry(text)).then(
      () => "accepted",
      () => "refused",
    ),
  );
  const outcomes = await Promise.all(more);
  await Promise.all(accepted);
  assert.ok(outcomes.includes("refused"));
  assert.ok(outcomes.lastIndexOf("accepted") < outcomes.indexOf("refused"));
});
