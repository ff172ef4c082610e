import assert from "node:assert/strict";
import { test } from "node:test";
import { runOptions } from "./keeper-options.ts";

const PLAIN = { console: false, guarded: false, detached: false, watchConfig: false, once: false };

test("the options of run: configuration, console, the process whose end ends procman, the guard that restarts it, the processes to run", () => {
  assert.deepEqual(runOptions([]), PLAIN);
  const given = ["-c", "a.json", "--console", "--exit-with", "job"];
  assert.deepEqual(runOptions(given), { ...PLAIN, config: "a.json", console: true, exitWith: "job" });
  assert.deepEqual(runOptions(["--exit-with=job", "--profile=production", "--guarded", "--watch-config"]), {
    ...PLAIN,
    guarded: true,
    watchConfig: true,
    profile: "production",
    exitWith: "job",
  });
  assert.deepEqual(runOptions(["web", "--once", "mail"]), { ...PLAIN, once: true, ids: ["web", "mail"] });
});

test("an unknown option, or one without its value, is a usage error", () => {
  for (const args of [["--exit-wiht", "job"], ["--exit-with"], ["job", "--twice"]])
    assert.throws(() => runOptions(args), { code: "usage", message: /^Cannot run: .*see "procman run --help"$/s });
});
