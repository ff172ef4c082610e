import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner } from "../../../test/support/fakes.ts";
import { FakeLog } from "../../../test/support/service-fakes.ts";
import { configOf } from "../../../test/support/service-rig.ts";
import { monotonicMs } from "../os/clock.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import type { FileChangeBatch } from "./recovery/notes.ts";
import { RestartOnChange } from "./restart-on-change.ts";
import type { KeeperLink } from "./services.ts";
import { definitionOf, SpecRegistry } from "./spec-registry.ts";

function setup() {
  const config = configOf("/app", [
    { id: "solo", cmd: "sleep 1000", watch: ["src"] },
    { id: "web", cmd: "sleep 1000", watch: ["src"], cluster: { instances: 2 } },
  ]);
  const { processes: specs } = config;
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: (id, notice) =>
      notice.type === "watch" && restarts.push(`${id}: ${notice.effect} ${notice.files} of ${notice.count}`),
    removed: () => undefined,
  });
  const restarts: string[] = [];
  const fileChanges: { readonly batch: FileChangeBatch; readonly shouldRun: () => boolean }[] = [];
  const rollingRestarts = {
    onFileChange: (_cluster: string, batch: FileChangeBatch, shouldRun: () => boolean): void =>
      void fileChanges.push({ batch, shouldRun }),
  };
  const log = new FakeLog();
  const services = { log, specs: new SpecRegistry(config), supervisor };
  const link = { flush: () => undefined } as unknown as KeeperLink;
  const restartOnChange = new RestartOnChange({ ...services, link }, rollingRestarts);
  supervisor.apply(specs.map(definitionOf));
  for (const { id } of specs) spawner.up(id);
  const change = (...files: readonly string[]): void =>
    restartOnChange.onChange(
      specs,
      files.map((file) => ({ file: `/app/${file}`, at: monotonicMs() })),
    );
  return { restartOnChange, restarts, log, fileChanges, change };
}

test("a change is reported to a process by itself, and once to a cluster for all its instances", () => {
  const { restarts, fileChanges, change, restartOnChange } = setup();
  change("src/a.ts", "src/b.ts");
  restartOnChange.close();
  assert.deepEqual(restarts, ["solo: restarts src/a.ts,src/b.ts of 2"]);
  assert.deepEqual(
    fileChanges.map(({ batch: { files, count, ids } }) => [files, count, ids]),
    [[["src/a.ts", "src/b.ts"], 2, ["web-1", "web-2"]]],
  );
});

test("a cluster whose instances write their watched files is held back as one", () => {
  const { log, fileChanges, change, restartOnChange } = setup();
  const answers = Array.from({ length: 6 }, () => {
    change("src/built.ts");
    return fileChanges.at(-1)?.shouldRun();
  });
  restartOnChange.close();
  assert.deepEqual(answers, [true, true, true, true, true, false]);
  assert.deepEqual(
    log.lines.filter((line) => line.startsWith("web")),
    [
      "web: src/built.ts has changed soon after a start, and not for the first time; waiting until no file has changed for 10 s",
    ],
  );
});
