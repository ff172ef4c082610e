/** Runs that the keeper starts by restart orders. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { RestartOrders } from "./restart-orders.ts";

const REQUEST = { slot: "web", run: 2, argv: ["true"], cwd: "/", env: {} };

function after(
  wanted: "any-end" | "failure",
  end: { readonly run?: number; readonly code?: number | null; readonly survivors?: boolean },
): number | undefined {
  const prepared = new RestartOrders();
  prepared.add({ ...REQUEST, after: wanted });
  return prepared.after({ slot: "web", run: 1, code: 0, survivors: false, ...end })?.run;
}

test("2.2 a restart order applies after every end of the run before it, or after every failure", () => {
  assert.deepEqual([after("any-end", {}), after("any-end", { code: 1 }), after("any-end", { code: null })], [2, 2, 2]);
  assert.deepEqual([after("failure", {}), after("failure", { code: 1 }), after("failure", { code: null })], [undefined, 2, 2]);
});

test("2.2 no restart order applies after a run that has left processes behind, nor after another run", () => {
  assert.deepEqual(
    [after("any-end", { survivors: true }), after("any-end", { run: 2 }), after("any-end", { run: 0 })],
    [undefined, undefined, undefined],
  );
});

test("2.2 a restart order is used once, and can be cancelled", () => {
  const prepared = new RestartOrders();
  const end = { slot: "web", run: 1, code: 1, survivors: false };
  prepared.add({ ...REQUEST, after: "any-end" });
  assert.deepEqual(prepared.after(end), REQUEST);
  assert.equal(prepared.after(end), undefined);
  prepared.add({ ...REQUEST, after: "any-end" });
  prepared.cancel({ slot: "web", run: 1 });
  prepared.cancel({ slot: "api", run: 2 });
  assert.deepEqual(prepared.after(end), REQUEST);
  for (const takeBack of [() => prepared.cancel(REQUEST), () => prepared.clear()]) {
    prepared.add({ ...REQUEST, after: "any-end" });
    takeBack();
    assert.equal(prepared.after(end), undefined);
  }
});
