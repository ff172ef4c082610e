/** Which requests are refused, wait, join or cancel an operation under way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Operation, type OperationRequest, Operations } from "./operations.ts";
import type { OperationFailure } from "./settle.ts";

function running(kind: Operation["kind"], target = "web", pending: readonly string[] = []) {
  const cancelled: string[] = [];
  let finish = (_failure?: OperationFailure): void => undefined;
  const done = new Promise<OperationFailure | undefined>((resolve) => {
    finish = resolve;
  });
  const operation: Operation = {
    kind,
    concerns: (each) => each === target,
    pending,
    done,
    cancel: (why) => cancelled.push(why),
  };
  return { operation, cancelled, finish };
}

function operationsWith(...all: readonly { readonly operation: Operation }[]): Operations {
  const operations = new Operations();
  for (const { operation } of all) operations.add(operation);
  return operations;
}

const request = (
  kind: OperationRequest["kind"],
  targets: readonly string[] = ["web"],
  follows: readonly string[] = [],
): OperationRequest => ({
  ...{ kind, targets, follows },
});

test("a request that conflicts with an operation under way is refused, and the message names the operation", () => {
  const hard = "wait for its end, or restart all instances at once with --hard";
  const stopping = "everything is being stopped; run procman again afterwards";
  for (const [kind, under, code, why] of [
    ["restart", "rolling-restart", "roll-running", `a rolling restart of it is under way; ${hard}`],
    ["restart", "reload", "roll-running", `a reload of it is under way; ${hard}`],
    ["reload", "reload", "reload-running", "a reload is under way; wait for its end"],
    ["reload", "rolling-restart", "roll-running", 'a rolling restart of "web" is under way; wait for its end'],
    ["reload", "shutdown", "reload-failed", stopping],
    ["plan", "shutdown", "reload-failed", stopping],
    ["scale", "shutdown", "scale-refused", stopping],
    ["scale", "reload", "reload-running", "a reload is under way; wait for its end"],
    ["scale", "rolling-restart", "roll-running", "a rolling restart of it is under way; wait for its end"],
  ] as const) {
    const operations = operationsWith(running(under));
    assert.throws(
      () => operations.check(request(kind), "do that"),
      { code, message: `Cannot do that: ${why}` },
      `${kind} ${under}`,
    );
  }
});

test("operations on other clusters, and operations that are over, don't conflict", () => {
  const { operation } = running("rolling-restart", "api");
  const operations = operationsWith({ operation });
  for (const kind of ["restart", "reload", "scale", "plan"] as const) operations.check(request(kind), "do that");
  assert.equal(operations.operationToJoin(request("file-change")), undefined);
  assert.equal(operations.blockingOperation(request("queued-restart")), undefined);
  assert.throws(() => operations.check(request("restart", ["web", "api"]), "do that"), { code: "roll-running" });
  operations.remove(operation);
  operations.check(request("restart", ["web", "api"]), "do that");
});

test("changed files join the rolling restart under way; a restart waits for a reload, and for the restarts it follows", () => {
  const [restart, reload] = [running("rolling-restart"), running("reload", "api")];
  const operations = operationsWith(restart, reload);
  assert.equal(operations.operationToJoin(request("file-change")), restart.operation);
  assert.equal(operations.blockingOperation(request("queued-restart", ["api"])), reload.operation);
  assert.equal(operations.blockingOperation(request("queued-restart", ["mail"], ["web"])), restart.operation);
  assert.equal(operations.blockingOperation(request("reload-when-free", [])), reload.operation);
});

test("a stop, a block and a restart of all instances at once end a rolling restart, and nothing else", () => {
  for (const kind of ["stop", "block", "restart-at-once"] as const) {
    const [restart, other, reload] = [running("rolling-restart"), running("rolling-restart", "api"), running("reload")];
    operationsWith(restart, other, reload).cancel(request(kind), "that was asked for");
    assert.deepEqual([restart.cancelled, other.cancelled, reload.cancelled], [["that was asked for"], [], []]);
  }
});

test("pending processes are known; the end of all operations of a kind can be awaited", async () => {
  const [one, other] = [running("rolling-restart", "web", ["web-2"]), running("rolling-restart", "api")];
  const operations = operationsWith(one, other);
  assert.deepEqual([operations.isPending("web-2"), operations.isPending("web-1")], [true, false]);
  assert.deepEqual([operations.isUnderWay("rolling-restart"), operations.isUnderWay("shutdown")], [true, false]);
  let isOver = false;
  const settled = operations.waitForAll("rolling-restart").then(() => {
    isOver = true;
  });
  one.finish({ problem: "it failed" });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
  other.finish();
  await settled;
});
