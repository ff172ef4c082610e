import assert from "node:assert/strict";
import { test } from "node:test";
import { runOptions } from "./options.ts";

test("the options of run: configuration, console, the process that everything ends with", () => {
  assert.deepEqual(runOptions([]), { console: false });
  assert.deepEqual(runOptions(["-c", "a.json", "--console", "--exit-with", "job"]), { config: "a.json", console: true, exitWith: "job" });
  assert.deepEqual(runOptions(["--exit-with=job"]), { console: false, exitWith: "job" });
});

test("an option that is not known, or lacks its value, is an error of usage", () => {
  for (const args of [["--exit-wiht", "job"], ["--exit-with"], ["job"]])
    assert.throws(() => runOptions(args), { code: "usage", message: /^Cannot run: .*see "procman run --help"$/s });
});
