/** An option with an empty value, as an unset variable of a script leaves it, is a usage error: nothing else is acted on in its place. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, procman } from "../support/cli.ts";

const WEB = { id: "web", cmd: "exec sleep 1000", autostart: true };

test("an empty value of an option is refused by every command, in each form", async (context) => {
  const { folder, state } = homeOf(context, [WEB]);
  const env = { PROCMAN_CONFIG: join(folder, "procman.json") };
  const words = [
    "run",
    "validate",
    "status",
    "terminate",
    "reload",
    "token",
    "init",
    "append",
    "remove",
    "export",
    "install",
    "upgrade",
  ];
  const forms = words.flatMap((word) => [
    [word, "--config", ""],
    [word, "--config="],
    [word, "-c", ""],
  ]);
  const others = [
    ["-c", "", "status"],
    ["--config", "", "run"],
    ["run", "--detach", "--config", ""],
    ["run", "--profile", ""],
    ["run", "--exit-with="],
    ["run", "-d", "--exit-with", ""],
    ["status", "--name", ""],
    ["stop", "web", "--name="],
    ["status", "--host", ""],
    ["status", "--host="],
    ["reload", "--profile", ""],
    ["uninstall", "--name", ""],
    ["token", "--consumer", ""],
    ["init", "--id", "", "--cmd", "true"],
    ["append", "--id", "a", "--cmd", "true", "--cwd", ""],
  ];
  for (const args of [...forms, ...others]) {
    const { code, out, err } = await procman(folder, args, env);
    assert.deepEqual([code, out], [64, ""], `${args.join(" ")}: ${err}`);
    assert.match(err, /^procman: .*(?:is empty|needs a name).*\n$/, args.join(" "));
  }
  assert.equal((await procman(folder, ["status"])).code, 69, "nothing was started");
  // An empty variable counts as none.
  assert.equal((await procman(folder, ["validate"], { PROCMAN_CONFIG: "", PROCMAN_STATE_DIR: "" })).code, 0);
  assert.ok((await procman(folder, ["status"], { PROCMAN_CONFIG: "", PROCMAN_STATE_DIR: "" })).err.includes(state));
});
