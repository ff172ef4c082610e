/** Restart orders of the service to the keeper. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "../../../test/support/procman-process.ts";
import { configOf, folder, spawned, startService } from "../../../test/support/service-rig.ts";
import { replaceSecret } from "../os/secret.ts";

const web = { id: "web", cmd: "sleep 1000", autostart: true };

test("2.2 a run is prepared unless parts of it are read at its start: env files, secrets, a cgroup", async (context) => {
  const stateDir = folder();
  writeFileSync(join(stateDir, "secret.txt"), "hush");
  writeFileSync(join(stateDir, ".env"), "WORD=one");
  const others = {
    file: { envFile: ".env" },
    secret: { env: { PASSWORD: { file: join(stateDir, "secret.txt") } } },
    own: { env: { PASSWORD: { env: "PATH" } } },
    capped: { memoryMax: "1GB" },
    slowed: { cpuQuota: 50 },
  };
  const processes = Object.entries(others).map(([id, more]) => ({ ...web, id, ...more }));
  const { tell, channel } = startService(context, configOf(stateDir, [...processes, web]));
  // They have run for longer than a second; the process that was started last is prepared last.
  tell(...processes.map(({ id }) => spawned(id)), spawned("web"));
  await eventually(() => (channel.requests("prepare").length > 0 ? true : undefined));
  assert.deepEqual(channel.requests("prepare", "unprepare"), ["prepare web 2"]);
  const [prepared] = channel.sent.filter(({ t }) => t === "prepare");
  assert.ok(
    prepared?.t === "prepare" && prepared.after === "failure" && /^web\.2@/.test(prepared.env.PROCMAN_RUN_ID ?? ""),
  );
});

test("2.2, 3.3 a prepared run gets a token of the present secret", async (context) => {
  const stateDir = folder();
  const { tell, channel } = startService(context, configOf(stateDir, [web], { api: { port: 0 } as never }));
  tell(spawned("web"));
  const tokens = (): readonly string[] =>
    channel.sent.flatMap((each) => (each.t === "prepare" ? [each.env.PROCMAN_API_TOKEN ?? ""] : []));
  await eventually(() => (tokens().length > 0 ? true : undefined));
  replaceSecret(stateDir);
  await eventually(() => (tokens().length > 1 ? true : undefined));
  assert.notEqual(tokens()[0], tokens()[1]);
  assert.deepEqual(channel.requests("prepare", "unprepare"), ["prepare web 2", "unprepare web 2", "prepare web 2"]);
});
