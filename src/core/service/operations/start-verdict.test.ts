/** When a start counts as successful, and when it has failed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner, POLICY } from "../../../../test/support/fakes.ts";
import { EVEN, servingContext } from "../../../../test/support/service-fakes.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Policy } from "../../supervisor/restart-policy.ts";
import { Supervisor } from "../../supervisor/supervisor.ts";
import type { Verdict } from "./settle.ts";
import { AwaitedStart } from "./start-verdict.ts";

/** Of a plain process, or of an instance. */
const sourceOf = (spec: object, accepts = () => true) => ({ spec: { ...spec, id: "web" }, accepts });
const source = sourceOf({});

/** The verdicts on a start; a number: it is running, look again after this many milliseconds. */
class StartWatch {
  readonly #start: AwaitedStart;

  constructor(process: Process, { spec, accepts }: ReturnType<typeof sourceOf>) {
    const context = servingContext(supervisorOf.get(process) as Supervisor, [spec]);
    this.#start = new AwaitedStart(process, { ...context, balancing: { ...EVEN, accepts } });
  }

  verdict(): Verdict | number {
    let nextMs = Number.POSITIVE_INFINITY;
    const verdict = this.#start.look((ms) => {
      nextMs = ms;
    });
    return verdict === "pending" && nextMs < Number.POSITIVE_INFINITY ? nextMs : verdict;
  }
}

const supervisorOf = new WeakMap<Process, Supervisor>();

function rig(rules: Partial<Policy> = {}) {
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: () => undefined,
    removed: () => undefined,
  });
  supervisor.apply([{ id: "web", autostart: false, overrun: false, policy: { ...POLICY, ...rules } }]);
  const web = supervisor.find("web");
  supervisorOf.set(web, supervisor);
  return { clock, spawner, web };
}

test("a run counts as up after minUptimeMs, 1 s if it isn't set", () => {
  for (const [rules, ms] of [
    [{}, 1_000],
    [{ minUptimeMs: 300 }, 300],
  ] as const) {
    const { clock, spawner, web } = rig(rules);
    web.start();
    const watch = new StartWatch(web, source);
    assert.equal(watch.verdict(), "pending");
    spawner.up("web");
    assert.equal(watch.verdict(), ms);
    clock.advance(ms - 1);
    assert.equal(watch.verdict(), 1);
    clock.advance(1);
    assert.equal(watch.verdict(), "up");
  }
  const { spawner, web } = rig({ minUptimeMs: 0 });
  web.start();
  spawner.up("web");
  assert.equal(new StartWatch(web, source).verdict(), "up");
});

test("a task counts as up when it has finished, and has failed when it ends otherwise", () => {
  for (const [code, verdict] of [
    [0, "up"],
    [3, "failed"],
  ] as const) {
    const { clock, spawner, web } = rig({ restart: "never" });
    web.start();
    const watch = new StartWatch(web, sourceOf({ task: true }));
    spawner.up("web");
    clock.advance(5_000);
    assert.equal(watch.verdict(), "pending");
    spawner.exit("web", code);
    assert.equal(watch.verdict(), verdict);
  }
});

test("with a readiness probe it counts as up when it is ready", () => {
  const { clock, spawner, web } = rig({ readyMs: 30_000 });
  web.start();
  const watch = new StartWatch(web, source);
  spawner.up("web");
  clock.advance(5_000);
  assert.equal(watch.verdict(), "pending");
  web.report("web", { type: "ready", run: 1 });
  assert.equal(watch.verdict(), "up");
});

test("a run that ends with an error has failed, also while its policy restarts it; one that ends with code 0 is done", () => {
  for (const rules of [{}, { restart: "never" }, { restartDelayMs: 5_000 }, { restartLimit: 0 }] as const) {
    const { spawner, web } = rig(rules);
    web.start();
    const watch = new StartWatch(web, source);
    spawner.up("web");
    spawner.exit("web", 3);
    assert.equal(watch.verdict(), "failed", JSON.stringify(rules));
  }
  const { spawner, web } = rig();
  web.start();
  const watch = new StartWatch(web, source);
  spawner.up("web");
  spawner.exit("web", 0);
  assert.equal(watch.verdict(), "up");
});

test("the next run, which the policy has started, doesn't count for the start", () => {
  const { clock, spawner, web } = rig();
  web.start();
  const watch = new StartWatch(web, source);
  spawner.up("web");
  spawner.exit("web", 3);
  spawner.up("web");
  clock.advance(5_000);
  assert.equal(watch.verdict(), "failed");
});

test("a run that is restarted after every end has failed if it ends at once with code 0", () => {
  const { spawner, web } = rig({ restart: "always" });
  web.start();
  const watch = new StartWatch(web, source);
  spawner.up("web");
  spawner.exit("web", 0);
  assert.equal(watch.verdict(), "failed");
});

test("restarts before the request don't count", () => {
  const { clock, spawner, web } = rig();
  web.start();
  spawner.up("web");
  spawner.exit("web", 1);
  spawner.up("web");
  const running = new StartWatch(web, source);
  clock.advance(1_000);
  assert.equal(running.verdict(), "up", "it was running already");
  web.restart();
  const watch = new StartWatch(web, source);
  assert.equal(watch.verdict(), "pending");
  spawner.exit("web", 0);
  spawner.swept("web");
  spawner.up("web");
  clock.advance(1_000);
  assert.equal(watch.verdict(), "up");
});

test("an instance counts as up when it has got connections and been healthy for minUptimeMs without a break, also if it has a readiness probe", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  let accepts = false;
  for (const health of [undefined, {}]) {
    [accepts, now] = [false, 0];
    const { spawner, web } = rig({ readyMs: 30_000, minUptimeMs: 2_000 });
    web.start();
    const watch = new StartWatch(
      web,
      sourceOf({ cluster: {}, health }, () => accepts),
    );
    const pass = (ms: number): Verdict | number => {
      now += ms;
      return watch.verdict();
    };
    spawner.up("web");
    web.report("web", { type: "ready", run: 1 });
    assert.equal(typeof pass(5_000), "number", "it gets no connections");
    accepts = true;
    if (health !== undefined) {
      assert.equal(typeof pass(5_000), "number", "no health check has succeeded");
      web.report("web", { type: "health", run: 1, good: true });
    }
    assert.equal(pass(5_000), 2_000);
    assert.equal(pass(1_999), 1);
    accepts = false;
    pass(1);
    accepts = true;
    assert.equal(pass(1), 2_000, "the time begins anew");
    assert.equal(pass(2_000), "up");
  }
});

test("a new run that is not healthy has failed, also where nothing restarts it", () => {
  const { spawner, web } = rig({ restart: "never" });
  web.start();
  const watch = new StartWatch(web, sourceOf({ cluster: {}, health: {} }));
  spawner.up("web");
  web.report("web", { type: "health", run: 1, good: false });
  assert.equal(watch.verdict(), "failed");
  assert.notEqual(new StartWatch(web, sourceOf({ cluster: {}, health: {} })).verdict(), "failed", "it was so before");
});
