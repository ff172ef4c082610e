import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { currentRights, hardLimitsIn, isCapable } from "./process-rights.ts";

test("hard limits are those of the kernel's table", () => {
  const text = `Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 20000                files     
`;
  assert.deepEqual(hardLimitsIn(text), { "Max cpu time": Infinity, "Max open files": 20_000 });
  assert.deepEqual(hardLimitsIn(""), {});
});

test("the shell knows the same hard limit of open files", { skip: process.platform !== "linux" && "/proc" }, () => {
  const shown = execFileSync("/bin/sh", ["-c", "ulimit -H -n"], { encoding: "utf8" }).trim();
  assert.equal(currentRights().hardLimits["Max open files"], shown === "unlimited" ? Infinity : Number(shown));
});

test("root in a container may lack a capability", () => {
  const status = "Name:\tnode\nCapEff:\t000001fffeffffff\n";
  assert.deepEqual(
    [isCapable(status, "resource", 0), isCapable(status, "nice", 0), isCapable(status, "admin", 1_000)],
    [false, true, true],
  );
  assert.deepEqual([isCapable("", "resource", 0), isCapable("", "resource", 1_000)], [true, false]);
});

test("programs are looked for in PATH", () => {
  assert.deepEqual([currentRights().has("sh"), currentRights().has("no-such-program")], [true, false]);
});
