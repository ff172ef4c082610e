/** What a user who comes from pm2, supervisord, systemd or compose types first: docs/cli.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SUMMARIES } from "../../src/cli/overview.ts";
import { homeOf, procman } from "../support/cli.ts";

test("commands of other process managers are answered with procman's word, and -v prints the version", async (context) => {
  const { folder } = homeOf(context, []);
  const answers = [
    ["ls", /"procman status" shows the processes/],
    ["ps", /"procman status" shows the processes/],
    ["kill", /"procman stop ID" .*"procman signal KILL ID" .*"procman terminate"/],
    ["delete", /"procman remove ID"/],
    ["top", /"procman status" shows CPU and memory/],
    ["monit", /"procman status" shows CPU and memory/],
    ["startup", /docs\/reliability\.md has a unit for systemd/],
    ["save", /nothing needs saving/],
    ["up", /"procman run --detach" .*"procman reload"/],
    ["down", /"procman terminate" stops all processes/],
  ] as const;
  for (const [word, answer] of answers) {
    const { code, out, err } = await procman(folder, [word, "web"]);
    assert.deepEqual([code, out], [64, ""]);
    assert.match(err, answer);
    assert.match(err, new RegExp(`^procman: Cannot run "${word}": procman has other words for that: `));
    assert.doesNotMatch(err, /Did you mean/);
  }
  const { out } = await procman(folder, ["-v"]);
  assert.equal(out, (await procman(folder, ["version"])).out);
});

test("the help of each command ends with examples of it", async (context) => {
  const { folder } = homeOf(context, []);
  for (const name of Object.keys(SUMMARIES).filter((each) => each !== "version" && each !== "help")) {
    const { code, out } = await procman(folder, [name, "--help"]);
    assert.equal(code, 0);
    assert.match(out, new RegExp(`\\nExamples?:\\n(  procman ${name}( .*)?\\n)+$`), name);
  }
  for (const name of ["help", "version"]) {
    const { code, out } = await procman(folder, ["help", name]);
    assert.deepEqual([code, out], [0, (await procman(folder, ["help"])).out], name);
  }
});

test("an unknown id is answered with the cluster that is meant", async (context) => {
  const { folder } = homeOf(context, [{ id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances: 2 } }]);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  for (const command of ["stop", "why", "logs", "status"]) {
    const { code, err } = await procman(folder, [command, "wbe"]);
    assert.equal(code, 1, command);
    assert.match(err, /Did you mean "web"\?/, command);
  }
});
