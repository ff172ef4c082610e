import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { FromKeeper } from "../ipc/keeper-protocol.ts";
import { KeeperState } from "./keeper-state.ts";

const LIMIT_MS = 1_000;

/** A keeper that holds its runs, with a request for one whose program is missing, and the slots of its reports. */
function holding(context: TestContext) {
  const stateDir = mkdtempSync(join(tmpdir(), "procman-keeper-state-"));
  context.after(() => rmSync(stateDir, { recursive: true, force: true }));
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const failed: string[] = [];
  const part = {
    pids: [],
    flush: () => Promise.resolve(),
    send: (message: FromKeeper) => message.t === "failed" && failed.push(message.slot),
  };
  const deferred = { isRush: false, add: () => () => undefined };
  const options = {
    stateDir,
    uidOf: () => undefined,
    isFailover: false,
    service: part,
    logger: part,
    sockets: {},
    deferred,
  };
  const state = new KeeperState(options as never);
  state.holdRuns(LIMIT_MS);
  const program = join(stateDir, "missing");
  const ask = (slot: string): void =>
    state.execute({ t: "spawn", slot, run: 1, argv: [program], cwd: "/", env: {} } as never);
  ask("web");
  return { state, failed, ask };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
};

async function reported(failed: readonly string[], slots: readonly string[]): Promise<void> {
  while (failed.length < slots.length) await setImmediate();
  assert.deepEqual(failed, slots);
}

test("held runs are started after the time limit, although the logger has not answered; later ones at once", async (context) => {
  const { state, failed, ask } = holding(context);
  await turns(5);
  context.mock.timers.tick(LIMIT_MS - 1);
  await turns(5);
  assert.deepEqual(failed, []);
  assert.equal(state.journal.state.starting.size, 0, "it was not begun");
  context.mock.timers.tick(1);
  await reported(failed, ["web"]);
  ask("late");
  await reported(failed, ["web", "late"]);
});

test("held runs are started as soon as the logger answers, and the time limit then starts nothing again", async (context) => {
  const { state, failed } = holding(context);
  state.releaseRuns();
  await reported(failed, ["web"]);
  context.mock.timers.tick(LIMIT_MS);
  await turns(5);
  assert.deepEqual(failed, ["web"]);
});

test("the end removes the sockets of the API, also those of services that were killed before they could name them", (context) => {
  const { state } = holding(context);
  const run = join(state.folder, "run");
  for (const name of ["api.sock", "api.4711", "api.notes"]) writeFileSync(join(run, name), "");
  state.remove();
  assert.deepEqual(
    readdirSync(run).filter((name) => name.startsWith("api.")),
    ["api.notes"],
  );
});
