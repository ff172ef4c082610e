import assert from "node:assert/strict";
import { test } from "node:test";
import { runOptions, withAbsoluteConfig } from "./keeper-options.ts";

const PLAIN = { console: false, guarded: false, detached: false, keep: false, watchConfig: false, once: false };

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
  assert.deepEqual(runOptions(["--front=plain", "--except=a", "--except=b", "--watch=c"]), {
    ...PLAIN,
    front: "plain",
    except: ["a", "b"],
    watch: ["c"],
  });
});

test("the path of the file is made absolute for a keeper that is started in another folder, in each form", () => {
  for (const given of [["-c", "a.json"], ["-ca.json"], ["--config", "a.json"], ["--config=a.json"]])
    assert.deepEqual(withAbsoluteConfig(["web", ...given, "--once", "--", "-c"], "/srv"), [
      "web",
      "--config=/srv/a.json",
      "--once",
      "--",
      "-c",
    ]);
  assert.deepEqual(withAbsoluteConfig(["-c", "a", "--config=/b"], "/srv"), ["--config=/srv/a", "--config=/b"]);
  assert.deepEqual(withAbsoluteConfig(["web"], "/srv"), ["web"]);
});

test("an unknown option, or one without its value, is a usage error", () => {
  for (const args of [
    ["--exit-wiht", "job"],
    ["--exit-with"],
    ["--exit-with="],
    ["-c", ""],
    ["job", "--twice"],
    ["--except="],
    ["--front=tv"],
  ])
    assert.throws(() => runOptions(args), { code: "usage", message: /^Cannot run: .*see "procman run --help"$/s });
});
