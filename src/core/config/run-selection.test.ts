/** What ids, `--once` and `--exit-with` change in the configuration of a run. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RawProcess } from "./config-schema.ts";
import { normalise } from "./normalise.ts";
import { checkSelection, type RunSelection, withSelection } from "./run-selection.ts";
import type { Config } from "./spec.ts";

const PROCESSES: readonly RawProcess[] = [
  { id: "db", cmd: "x" },
  { id: "migrate", cmd: "x", dependsOn: ["db"], groups: "nightly" },
  {
    id: "web",
    cmd: "x",
    autostart: true,
    dependsOn: [{ id: "migrate", condition: "finished" }],
    cluster: { instances: 2 },
    groups: "front",
  },
  { id: "build", cmd: "x", watch: ["src"] },
  { id: "report", cmd: "x", cron: "0 3 * * *", groups: ["nightly", "all"] },
  { id: "retried", cmd: "x", autostart: true, restartLimit: 3 },
  { id: "kept", cmd: "x", autostart: true, restart: "always" },
];

function config(processes: readonly RawProcess[] = PROCESSES): Config {
  const context = { folder: "/", parallelism: 1, now: new Date(0), stripsTypes: false };
  return { ...normalise({ processes: [...processes] }, context), file: "", warnings: [] };
}

const starting = (selection: RunSelection): readonly string[] =>
  withSelection(config(), selection).processes.flatMap(({ id, autostart, watch }) =>
    autostart || watch.length > 0 ? [id] : [],
  );

const restarts = (selection: RunSelection): Readonly<Record<string, string>> =>
  Object.fromEntries(withSelection(config(), selection).processes.map(({ id, policy }) => [id, policy.restart]));

test("without a selection the configuration is that of the file", () => {
  const found = config();
  for (const selection of [{}, { ids: [], once: false }, { ids: ["all"] }])
    assert.equal(withSelection(found, selection), found);
});

test("run ID starts these with all that they depend on; the others start by hand only", () => {
  assert.deepEqual(starting({ ids: ["web"] }), ["db", "migrate", "web-1", "web-2"]);
  assert.deepEqual(starting({ ids: ["web-2"] }), ["db", "migrate", "web-2"]);
  assert.deepEqual(starting({ ids: ["build", "report"] }), ["build", "report"]);
  const { processes } = withSelection(config(), { ids: ["report"] });
  assert.deepEqual(
    processes.flatMap(({ id, cron }) => (cron === undefined ? [] : [id])),
    ["report"],
    "it keeps its schedule",
  );
});

test("run group:NAME starts the members with all that they depend on; an unknown group is refused with the nearest", () => {
  assert.deepEqual(starting({ ids: ["group:nightly"] }), ["db", "migrate", "report"]);
  assert.deepEqual(starting({ ids: ["group:front", "report"] }), ["db", "migrate", "web-1", "web-2", "report"]);
  const refused = (selection: RunSelection): string => {
    try {
      checkSelection(selection, config());
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(refused({ ids: ["group:nightly"] }), "");
  assert.match(
    refused({ ids: ["group:nigtly"] }),
    /no process of the configuration is in this group\. Did you mean "group:nightly"\?/,
  );
  assert.match(refused({ exitWith: "group:front" }), /Cannot exit with process "group:front"/);
});

test("once: everything that starts with procman, with all that it depends on, without restarts, schedules and watchers", () => {
  assert.deepEqual(starting({ once: true }), ["db", "migrate", "web-1", "web-2", "build", "retried", "kept"]);
  assert.deepEqual(starting({ once: true, ids: ["report"] }), ["report"]);
  const { processes } = withSelection(config(), { once: true });
  assert.deepEqual(new Set(processes.map(({ policy }) => policy.restart)), new Set(["never"]));
  for (const { cron, watch } of processes) assert.deepEqual([cron, watch], [undefined, []]);
});

test("exit-with: the process isn't restarted, unless its restarts have a limit; the others stay as they are", () => {
  assert.deepEqual(restarts({ exitWith: "kept" }), { ...restarts({}), kept: "never" });
  assert.deepEqual(restarts({ exitWith: "web" }), { ...restarts({}), "web-1": "never", "web-2": "never" });
  assert.deepEqual(restarts({ exitWith: "retried" }), restarts({}));
});

test("an unknown id is an error that suggests a similar one; so is an end that never comes", () => {
  const refused = (selection: RunSelection, message: RegExp): void =>
    assert.throws(() => checkSelection(selection, config()), { code: "usage", message });
  for (const selection of [
    {},
    { ids: ["web", "web-2", "all"] },
    { exitWith: "web" },
    { ids: ["web"], exitWith: "db" },
    { once: true },
  ])
    checkSelection(selection, config());
  refused({ ids: ["wbe"] }, /^Cannot run "wbe": the configuration has no process with this id\. Did you mean "web"\?$/);
  refused({ ids: ["other.json"] }, /A file is given by "--config"\.$/);
  refused({ exitWith: "bd" }, /^Cannot exit with process "bd": .* Did you mean "db"\? Correct "--exit-with"$/);
  refused(
    { ids: ["db"], exitWith: "web" },
    /^Cannot exit with process "web": it is not started; name it, too: "db web"$/,
  );
  refused({ ids: ["mail"] }, /^Cannot run "mail": .* no process with this id\. It has .*\bweb\b.*\.$/);
  const manual = config([{ id: "a", cmd: "x", cron: "0 3 * * *" }]);
  assert.throws(() => checkSelection({ once: true }, manual), {
    code: "usage",
    message: /^Cannot run once: no process starts .* --once ID"$/,
  });
  checkSelection({ once: true, ids: ["a"] }, manual);
});

test("except: these don't start, and what depends on them starts without them", () => {
  assert.deepEqual(starting({ except: ["kept"] }), ["web-1", "web-2", "build", "retried"]);
  assert.deepEqual(starting({ ids: ["web"], except: ["migrate"] }), ["web-1", "web-2"]);
  const { processes } = withSelection(config(), { except: ["migrate", "group:nightly"] });
  const web = processes.find(({ id }) => id === "web-1");
  assert.equal(web?.dependsOn, undefined);
  assert.equal(processes.find(({ id }) => id === "report")?.cron, undefined);
  assert.throws(() => checkSelection({ except: ["wbe"] }, config()), /Cannot leave out "wbe": .*Did you mean "web"\?/);
  assert.throws(
    () => checkSelection({ except: ["kept"], exitWith: "kept" }, config()),
    /it is left out; name a process that runs$/,
  );
  const two = config([
    { id: "a", cmd: "x", autostart: true },
    { id: "b", cmd: "x", autostart: true },
    { id: "job", cmd: "x", cron: "0 3 * * *" },
  ]);
  checkSelection({ except: ["a", "b"] }, two);
  for (const selection of [{ except: ["a", "b", "job"] }, { ids: ["a"], except: ["a"] }])
    assert.throws(() => checkSelection(selection, two), /^ProcmanError: Cannot run all but a.*: nothing else starts$/);
});

test("watch: the folders of these processes are watched, without what package managers and tools write", () => {
  const { processes, watcher } = withSelection(config(), { watch: ["web", "build"] });
  assert.deepEqual(
    processes.filter(({ watch }) => watch.length > 0).map(({ id, watch }) => [id, watch]),
    [
      ["web-1", ["/"]],
      ["web-2", ["/"]],
      ["build", ["/src"]],
    ],
  );
  assert.deepEqual(watcher.skip, ["**/.git/**", "**/node_modules/**", "**/.*/**"]);
  assert.deepEqual(withSelection(config(), { except: ["kept"] }).watcher, config().watcher);
});
