import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock, FakeSpawner } from "../../test/support/fakes.ts";
import { configOf } from "../../test/support/service-rig.ts";
import { monotonicMs } from "../os/clock.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import type { FileChangeBatch } from "./recovery/notes.ts";
import { RestartOnChange } from "./restart-on-change.ts";
import { definitionOf } from "./spec-registry.ts";

function setup() {
  const { processes: specs } = configOf("/tmp", [
    { id: "solo", cmd: "sleep 1000", watch: ["src"] },
    { id: "web", cmd: "sleep 1000", watch: ["src"], cluster: { instances: 2 } },
  ]);
  const [clock, spawner] = [new FakeClock(), new FakeSpawner()];
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: () => undefined,
    notice: (id, notice) => notice.type === "watch" && told.push(`${id}: ${notice.effect} ${notice.files} of ${notice.count}`),
    removed: () => undefined,
  });
  const told: string[] = [];
  const said: string[] = [];
  const rolls: { readonly news: FileChangeBatch; readonly admits: () => boolean }[] = [];
  const rollingRestarts = {
    onFileChange: (_cluster: string, news: FileChangeBatch, admits: () => boolean): void => void rolls.push({ news, admits }),
  };
  const news = new RestartOnChange({
    ...{ rollingRestarts, processes: () => supervisor.processes },
    ...{ write: (id, { text }) => void said.push(`${id}: ${text}`), folder: () => "/app", flush: () => undefined },
  });
  supervisor.apply(specs.map(definitionOf));
  for (const { id } of specs) spawner.up(id);
  const change = (...files: readonly string[]): void =>
    news.onChange(
      specs,
      files.map((file) => ({ file: `/app/${file}`, at: monotonicMs() })),
    );
  return { news, told, said, rolls, change };
}

test("a change is reported to a process by itself, and once to a cluster for all its instances", () => {
  const { told, rolls, change, news } = setup();
  change("src/a.ts", "src/b.ts");
  news.close();
  assert.deepEqual(told, ["solo: restarts src/a.ts,src/b.ts of 2"]);
  assert.deepEqual(
    rolls.map(({ news: { files, count, ids } }) => [files, count, ids]),
    [[["src/a.ts", "src/b.ts"], 2, ["web-1", "web-2"]]],
  );
});

test("a cluster whose instances write their watched files is held back as one", () => {
  const { said, rolls, change, news } = setup();
  const answers = Array.from({ length: 6 }, () => {
    change("src/built.ts");
    return rolls.at(-1)?.admits();
  });
  news.close();
  assert.deepEqual(answers, [true, true, true, true, true, false]);
  assert.deepEqual(
    said.filter((line) => line.startsWith("web")),
    ["web: src/built.ts has changed, soon after a start like others before; waiting until no file has changed for 10 s"],
  );
});
