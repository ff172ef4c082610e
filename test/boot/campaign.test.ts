/** The campaign of `test/faults`, with a procman that is a unit of systemd: what is killed, systemd starts again. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { CHECKOUT, NODE_FOLDER, SystemdBox } from "../support/systemd-box.ts";

const POLL_MS = 2_000;
const TIMEOUT_MS = 280_000;
const { PROCMAN_FAULT_SEED: seed = "27" } = process.env;

test(`campaign of seed ${seed} under systemd: what was acknowledged holds, and nothing is lost, doubled or left behind`, {
  skip: SystemdBox.skip,
}, async (context) => {
  const box = await SystemdBox.boot();
  context.after(() => box.close());
  const program = `node --import tsx test/faults/campaign/under-systemd.ts ${seed}`;
  const variables = `--setenv=PROCMAN_TEST_PACKAGE='${NODE_FOLDER}/lib/node_modules/procman' --setenv=PATH="$PATH" --property=WorkingDirectory=${CHECKOUT}`;
  const output = "--property=StandardOutput=file:/srv/campaign --property=StandardError=inherit";
  await box.must(
    `systemd-run --quiet --unit=campaign-test --remain-after-exit ${variables} ${output} sh -c '${program}'`,
  );
  const state = (): Promise<string> => box.must("systemctl show --property=SubState --value campaign-test");
  for (const end = performance.now() + TIMEOUT_MS; (await state()) === "running" && performance.now() < end; )
    await sleep(POLL_MS);
  const said = await box.must("cat /srv/campaign");
  context.diagnostic(said);
  assert.equal(await box.must("systemctl show --property=ExecMainStatus --value campaign-test"), "0", said);
  assert.equal(await state(), "exited", said);
});
