import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { POLICY } from "../../../../test/support/fakes.ts";
import { FakeLog, specsOf } from "../../../../test/support/service-fakes.ts";
import { folder } from "../../../../test/support/service-rig.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessDefinition } from "../../supervisor/definition.ts";
import type { Specs } from "../services.ts";
import { LastingState } from "./lasting-state.ts";

const job = (more: Partial<ProcessDefinition> = {}): ProcessDefinition => ({
  ...{ id: "job", policy: POLICY, autostart: false, overrun: false, cron: "0 3 * * *", catchUp: true },
  ...more,
});
const turn = () => new Promise((resolve) => setImmediate(resolve));

function stateIn(_context: TestContext) {
  const stateDir = folder();
  const log = new FakeLog();
  /** `web-1` is an instance of the cluster `web`. */
  const specOf = (id: string): Pick<ProcessSpec, "id" | "cluster"> => {
    const [, cluster] = /^(.+)-\d+$/.exec(id) ?? [];
    return { id, ...(cluster !== undefined && { cluster: { id: cluster, index: 0, size: 1 } as never }) };
  };
  const specs: Pick<Specs, "config" | "find"> = {
    get config() {
      return specsOf(present.map(specOf), { stateDir }).config;
    },
    find: (id) => specOf(id) as ProcessSpec,
  };
  const problems = (): readonly string[] => log.own.map((problem) => problem.replace(stateDir, "STATE"));
  const load = (ids: readonly string[] = ["job"]): LastingState => {
    const state = new LastingState({ log, specs: specs as Specs });
    state.load(ids.map(specOf));
    return state;
  };
  const present: string[] = [];
  return { stateDir, load, problems, present, file: join(stateDir, "lasting.json") };
}

test("the next start of a schedule is stored for the next procman, as long as the schedule is the same", async (context) => {
  const { load, file } = stateIn(context);
  load().planStart(job({ timeZone: "UTC" }), 7_000);
  await turn();
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), {
    plans: { job: { cron: "0 3 * * *", timeZone: "UTC", planned: 7_000 } },
  });
  assert.equal(load().plannedStart(job({ timeZone: "UTC" })), 7_000);
  const { catchUp: _, ...plain } = job({ timeZone: "UTC" });
  for (const other of [job(), job({ timeZone: "UTC", cron: "0 4 * * *" }), job({ id: "__proto__" }), plain])
    assert.equal(load().plannedStart(other), undefined);
});

test("what a removed process has left is forgotten: at once, or by the next procman", async (context) => {
  const { load } = stateIn(context);
  const state = load();
  for (const id of ["job", "__proto__", "gone"]) state.planStart(job({ id }), 7_000);
  state.forget("gone");
  await turn();
  assert.equal(load(["job", "__proto__", "gone"]).plannedStart(job({ id: "__proto__" })), 7_000);
  assert.equal(load(["job", "gone"]).plannedStart(job({ id: "gone" })), undefined);
  await turn();
  assert.equal(load(["job", "__proto__"]).plannedStart(job({ id: "__proto__" })), undefined);
});

test("a file that is torn or strange is reported and ignored", (context) => {
  const { load, file, problems } = stateIn(context);
  for (const content of ["", '{"plans":', "[]", '{"plans":{"job":{"cron":1}}}']) {
    writeFileSync(file, content);
    assert.equal(load().plannedStart(job()), undefined);
  }
  assert.equal(problems().length, 4);
  for (const problem of problems()) assert.match(problem, /^Cannot use STATE\/lasting.json: .*; ignoring it$/);
});

test("a file that can't be written is reported once, and written later", async (context) => {
  const { load, file, problems } = stateIn(context);
  const state = load();
  mkdirSync(file);
  for (const planned of [1, 2]) {
    state.planStart(job(), planned);
    await turn();
  }
  assert.equal(problems().length, 1);
  assert.match(problems()[0] ?? "", /^Cannot write STATE\/lasting.json: /);
  rmSync(file, { recursive: true });
  state.stopped();
  assert.equal(load().plannedStart(job()), 2);
});

test("a disabled process stays so for the next procman, until it is enabled or the configuration no longer has it", async (context) => {
  const { stateDir, load } = stateIn(context);
  const state = load(["job", "web"]);
  for (const id of ["job", "web", "gone"]) state.setDisabled(id, true);
  state.setDisabled("web", true);
  state.planStart(job(), 7_000);
  await turn();
  const next = load(["job", "web"]);
  assert.deepEqual(
    ["job", "web", "gone", "__proto__"].map((id) => next.isDisabled(id)),
    [true, true, false, false],
  );
  next.setDisabled("web", false);
  next.forget("job");
  await turn();
  assert.deepEqual(JSON.parse(readFileSync(join(stateDir, "lasting.json"), "utf8")), { plans: {}, disabled: [] });
});

test("a disabled cluster stays so for instances that it gets later, but for those enabled one by one; also for the next procman", async (context) => {
  const { load, present } = stateIn(context);
  const all = ["web-1", "web-2", "web-3", "api-1"];
  const shown = (state: LastingState): readonly boolean[] => all.map((id) => state.isDisabled(id));
  const state = load(["web-1", "web-2", "api-1"]);
  for (const id of ["web-1", "web-2"]) state.setDisabled(id, true);
  state.setClusterDisabled("web", true);
  assert.deepEqual(shown(state), [true, true, true, false]);
  state.setDisabled("web-2", false);
  state.setDisabled("web-1", false);
  state.setDisabled("web-1", true);
  await turn();
  assert.deepEqual(shown(load(all)), [true, false, true, false]);
  // An instance that is scaled away and comes back is a new one.
  state.forget("web-2");
  assert.deepEqual(shown(state), [true, true, true, false]);
  present.push("web-1", "web-2", "web-3");
  state.apply();
  assert.equal(state.isDisabled("web-3"), true);
  for (const id of ["web-1", "web-2", "web-3"]) state.setDisabled(id, false);
  state.setClusterDisabled("web", false);
  assert.deepEqual(shown(state), [false, false, false, false]);
  state.setClusterDisabled("web", true);
  await turn();
  assert.equal(load(["web", "api-1"]).isDisabled("web-3"), false, "the file has no cluster of this name any more");
  present.splice(0, 3, "api-1");
  state.apply();
  assert.equal(state.isDisabled("web-3"), false, "nor has a reloaded one");
});
