import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { RawConfig, RawProcess } from "./config-schema.ts";
import { type ChangedProcess, diff } from "./diff.ts";
import type { Fields } from "./fields/field.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { normalise } from "./normalise.ts";
import type { ProcessSpec } from "./spec.ts";

const context = { folder: "/srv", parallelism: 2, now: new Date(0), stripsTypes: false };

function specs(processes: readonly RawProcess[], top: Partial<RawConfig> = {}): readonly ProcessSpec[] {
  return normalise({ ...top, processes: [...processes] }, context).processes;
}

/** The change of a process `web` from `one` to `other`, without a log store. */
function change(one: Partial<RawProcess>, other: Partial<RawProcess>): ChangedProcess | undefined {
  const of = (fields: Partial<RawProcess>): readonly ProcessSpec[] =>
    specs([{ id: "web", cmd: "node web.js", ...fields }], { logger: { internalLogHours: 0 } });
  return diff(of(one), of(other)).changed[0];
}

const concernsRun: readonly [string, Partial<RawProcess>, Partial<RawProcess>][] = [
  ["cmd", {}, { cmd: "node web.js --port 80" }],
  ["worker", { cmd: undefined, worker: "a.js" }, { cmd: undefined, worker: "b.js" }],
  ["cwd", {}, { cwd: "elsewhere" }],
  ["env", { env: { A: "1" } }, { env: { A: "2" } }],
  ["env", { env: { A: "1" } }, {}],
  ["env", { env: { A: { file: "a" } } }, { env: { A: { file: "b" } } }],
  ["envFile", {}, { envFile: [".env"] }],
  ["envFile", { envFile: ".env" }, { envFile: { path: ".env", optional: true } }],
  ["inheritEnv", {}, { inheritEnv: false }],
  ["inheritEnv", { inheritEnv: false }, { inheritEnv: ["HOME"] }],
  ["pathFirst", {}, { pathFirst: "bin" }],
  ["path", {}, { path: ["bin"] }],
  ["path", {}, { env: { PATH: "/opt/bin" } }],
  ["pidFile", {}, { pidFile: "web.pid" }],
  ["logger", {}, { logger: { stdout: "web.log" } }],
  ["ulimits", {}, { ulimits: { nofile: 100 } }],
  ["umask", { umask: "022" }, { umask: "027" }],
  ["nice", {}, { nice: 1 }],
  ["cpuQuota", {}, { cpuQuota: 50 }],
  ["oomScoreAdjust", {}, { oomScoreAdjust: 100 }],
  ["ioNice", { ioNice: { class: "best-effort" } }, { ioNice: { class: "best-effort", level: 7 } }],
  ["memoryMax", {}, { memoryMax: "1GB" }],
  ["user", {}, { user: 65_534 }],
  ["group", {}, { group: 65_534 }],
  ["ready", {}, { ready: { fd: 3 } }],
  ["ready", { node: true }, { node: true, ready: { message: true } }],
  ["node", {}, { node: true }],
  ["stdin", {}, { stdin: true }],
  ["stdin", { stdin: true }, { stdin: { file: "answers.txt" } }],
  ["port", { port: 3000 }, { port: 3001 }],
  ["tty", {}, { tty: true }],
  ["ready", { ready: { fd: 3 } }, { ready: { fd: 4 } }],
  ["logger", { logger: { console: true } }, {}],
];

test("another shared socket is a restart, as runs inherit it at their start", () => {
  const share = (port: number): Partial<RawProcess> => ({ cluster: { instances: 1, commonPort: port, mode: "share" } });
  const of = (cluster: Partial<RawProcess>): readonly ProcessSpec[] => specs([{ id: "web", cmd: "x", ...cluster }]);
  assert.deepEqual(diff(of(share(80)), of(share(81))).changed, [
    { id: "web-1", fields: ["cluster"], restart: true, route: false },
  ]);
});

test("3 each field whose change is a restart is tested here", () => {
  const restarting = Object.entries(PROCESS as Fields).flatMap(([name, { onChange }]) =>
    onChange === "restart" && name !== "cluster" ? [name] : [],
  );
  for (const name of restarting)
    assert.ok(
      concernsRun.some(([field]) => field === name),
      name,
    );
});

test("3 a change that concerns a run is a restart, and is named as in the file", () => {
  for (const [name, one, other] of concernsRun)
    assert.deepEqual(
      change(one, other),
      { id: "web", fields: [name], restart: true, route: false },
      JSON.stringify(other),
    );
});

test("3 policy, schedules and start policy are applied without a restart", () => {
  const others: readonly [string, Partial<RawProcess>][] = [
    ["restart", { restart: "always" }],
    ["restartDelayMs", { restartDelayMs: 5 }],
    ["restartLimit", { restartLimit: 5 }],
    ["restartResetMs", { restartResetMs: 5 }],
    ["minUptimeMs", { minUptimeMs: 5 }],
    ["successExitCodes", { successExitCodes: [3] }],
    ["terminateGracePeriod", { terminateGracePeriod: 5 }],
    ["terminateTimeout", { terminateTimeout: 5 }],
    ["stopSignal", { stopSignal: "SIGQUIT" }],
    ["reloadSignal", { reloadSignal: "SIGHUP" }],
    ["killMode", { killMode: "leader" }],
    ["hooks", { hooks: { beforeStart: "true" } }],
    ["timeout", { timeout: 5 }],
    ["cron", { cron: "0 0 * * *" }],
    ["terminate", { terminate: "0 0 * * *" }],
    ["overrun", { overrun: true }],
    ["ready", { ready: { port: 80 } }],
    ["health", { health: { port: 80 } }],
    ["memoryLimit", { memoryLimit: "1GB" }],
    ["groups", { groups: "backend" }],
  ];
  for (const [name, other] of others)
    assert.deepEqual(change({}, other), { id: "web", fields: [name], restart: false, route: false }, name);
  // With autostart the default of `restart` changes, too.
  assert.deepEqual(change({}, { autostart: true })?.fields, ["autostart", "restart"]);
});

test("3 another log file concerns the logger only; without any capture nothing is to be done", () => {
  const files = (stdout: string, extra: object = {}): Partial<RawProcess> => ({ logger: { stdout, ...extra } });
  assert.deepEqual(change(files("a.log"), files("b.log")), {
    id: "web",
    fields: ["logger"],
    restart: false,
    route: true,
  });
  assert.deepEqual(change(files("a.log"), files("a.log", { rotate: { size: "1MB" } }))?.route, true);
  assert.deepEqual(change(files("a.log"), { logger: { console: true } }), {
    id: "web",
    fields: ["logger"],
    restart: false,
    route: true,
  });
  const decorated = { logger: { decorateFiles: true } };
  assert.deepEqual(change({}, decorated), { id: "web", fields: ["logger"], restart: false, route: false });
});

test("another memoryMax, which the kernel enforces, is a restart", () => {
  assert.equal(change({ memoryMax: "1GB" }, { memoryMax: "2GB" })?.restart, true);
});

test("with a log store all output is captured, so another log file never is a restart; its end is one", () => {
  const of = (logger: object, hours: number): readonly ProcessSpec[] =>
    specs([{ id: "web", cmd: "x", logger }], { logger: { internalLogHours: hours } });
  const changed = (before: readonly ProcessSpec[], now: readonly ProcessSpec[]): object => {
    const { restart, route } = diff(before, now).changed[0] ?? {};
    return { restart, route };
  };
  assert.deepEqual(changed(of({}, 24), of({ stdout: "web.log" }, 24)), { restart: false, route: true });
  assert.deepEqual(changed(of({}, 24), of({}, 0)), { restart: true, route: false });
  assert.deepEqual(changed(of({ console: true }, 24), of({ console: true }, 0)), { restart: false, route: true });
  assert.deepEqual(diff(of({}, 24), of({}, 48)).changed, []);
});

test("3 worker instead of cmd, and another script, are a restart", () => {
  const worker = specs([{ id: "web", worker: "web.js" }]);
  assert.deepEqual(diff(specs([{ id: "web", cmd: "web.js" }]), worker).changed[0]?.fields, ["worker"]);
  assert.deepEqual(diff(worker, specs([{ id: "web", worker: ["web.js", "--fast"] }])).changed[0]?.restart, true);
});

test("3 clusters: scaling removes and adds ids; another port is a restart; a plain process is another id", () => {
  const cluster = (instances: number, startPort?: number): readonly ProcessSpec[] =>
    specs([{ id: "web", cmd: "x", cluster: { instances, ...(startPort === undefined ? {} : { startPort }) } }]);
  assert.deepEqual(diff(cluster(4), cluster(2)), { added: [], removed: ["web-3", "web-4"], changed: [] });
  assert.deepEqual(diff(cluster(1), cluster(3)).added, ["web-2", "web-3"]);
  assert.deepEqual(
    diff(cluster(2, 7000), cluster(2, 7001)).changed.map(({ id, fields, restart }) => ({ id, fields, restart })),
    ["web-1", "web-2"].map((id) => ({ id, fields: ["cluster"], restart: true })),
  );
  assert.deepEqual(diff(cluster(2), specs([{ id: "web", cmd: "x" }])), {
    added: ["web"],
    removed: ["web-1", "web-2"],
    changed: [],
  });
  // The id is kept, but the run has other variables.
  assert.deepEqual(diff(cluster(1), specs([{ id: "web-1", cmd: "x" }])).changed[0]?.restart, true);
});

const process = fc.record(
  {
    cmd: fc.constantFrom("a", "b"),
    cwd: fc.constantFrom("a", "b"),
    env: fc.dictionary(fc.constantFrom("A", "B"), fc.constantFrom("1", "2")),
    autostart: fc.boolean(),
    restartLimit: fc.constantFrom(0, 3),
    timeout: fc.constantFrom(0, 1),
    logger: fc.record({ console: fc.boolean(), stdout: fc.constantFrom("a.log", "b.log") }, { requiredKeys: [] }),
  },
  { requiredKeys: ["cmd"] },
);
const configuration = fc
  .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c", "d", "__proto__"), process), {
    selector: ([id]) => id,
    maxLength: 5,
  })
  .map((list) => specs(list.map(([id, fields]) => ({ id, ...fields }))));

test("property: between any two configurations each process is added, removed, changed or the same, and the reverse diff mirrors it", () => {
  fc.assert(
    fc.property(configuration, configuration, (before, now) => {
      const there = diff(before, now);
      const back = diff(now, before);
      assert.deepEqual([...there.added].sort(), [...back.removed].sort());
      assert.deepEqual(new Set(there.changed.map(({ id }) => id)), new Set(back.changed.map(({ id }) => id)));
      for (const change of there.changed) {
        assert.ok(change.fields.length > 0 && !(there.added.includes(change.id) || there.removed.includes(change.id)));
        const mirrored = back.changed.find(({ id }) => id === change.id);
        assert.deepEqual([mirrored?.restart, mirrored?.route], [change.restart, change.route]);
        assert.deepEqual(new Set(mirrored?.fields), new Set(change.fields));
      }
      const kept = now.filter(
        ({ id }) => !there.added.includes(id) && !there.changed.some((change) => change.id === id),
      );
      for (const spec of kept)
        assert.deepEqual(
          spec,
          before.find(({ id }) => id === spec.id),
        );
      assert.equal(before.length - there.removed.length, now.length - there.added.length);
    }),
  );
});

test("property: a configuration equals itself and a copy of itself", () => {
  fc.assert(
    fc.property(configuration, (some) => {
      const nothing = { added: [], removed: [], changed: [] };
      assert.deepEqual(diff(some, some), nothing);
      assert.deepEqual(diff(some, structuredClone(some)), nothing);
    }),
  );
});
