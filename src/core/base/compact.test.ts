import assert from "node:assert/strict";
import { test } from "node:test";
import { compact } from "./compact.ts";

test("members that are undefined are left out, others stay as they are, in order", () => {
  const value: { readonly pid?: number; readonly reason: null; readonly run: 0; readonly id: "web" } = compact({
    pid: undefined as number | undefined,
    reason: null,
    run: 0,
    id: "web",
  });
  assert.deepEqual(Object.keys(value), ["reason", "run", "id"]);
  assert.deepEqual(value, { reason: null, run: 0, id: "web" });
});
